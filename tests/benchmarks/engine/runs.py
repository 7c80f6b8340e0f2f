"""A result with round numbers."""

from benchmarks.engine.measurement import Measurement

RUN = Measurement(
    package="genie_core",
    version="1.0",
    asked=1_000,
    handled=800,
    seconds=2.0,
    cpu=1.6,
    first_p50=0.001,
    first_p99=0.002,
    last_p50=0.0015,
    last_p99=0.003,
    written=80_000,
    memory_before=30_000_000,
    memory_peak=50_000_000,
    expected=1_000,
    found=500,
)
