from tests.faults.scene import hurried as hurried
