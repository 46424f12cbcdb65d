"""nbgrader's settings for everyone on the hub. Our notebooks go through its exchange; `tfm grade` does the grading."""

import os

c = get_config()  # noqa: F821 (nbgrader gives it)

c.CourseDirectory.course_id = os.environ["TFM_COURSE"]
c.Exchange.root = os.environ["TFM_EXCHANGE"]
c.CourseDirectory.root = os.path.expanduser(
    f"~/{os.environ['TFM_COURSE']}"
)  # the instructor's; under the notebook root
c.ClearSolutions.code_stub = {"python": "..."}
