from tests.faults.scene import hurried as hurried
from tests.idle import apps_parse_styles_once as apps_parse_styles_once
from tests.idle import pilots_compose_no_updates as pilots_compose_no_updates
from tests.idle import pilots_wait_for_the_loop as pilots_wait_for_the_loop
