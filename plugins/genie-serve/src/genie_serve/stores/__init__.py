"""Where the rooms of a service are kept, so that another machine can continue them."""
