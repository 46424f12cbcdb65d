"""What the classroom promises, point by point, and the tests that hold it to each."""

import ast
from functools import cache

import pytest
from project import ROOT

PROMISES = {
    "1. nothing secret stands in what students get": [
        "test_classroom.py::test_nothing_secret_in_what_students_get",
        "test_classroom.py::test_a_leak_is_found_wherever_it_stands",
    ],
    "2. solutions earn full points and stubs none before anything goes out": [
        "test_classroom.py::test_a_fault_in_an_assignment_is_a_sentence"
    ],
    "3. classes and students have numbers of their own": ["test_classroom.py::test_every_class_has_its_own_numbers"],
    "4. grading goes on where it was killed": ["test_class.py::test_killed_and_run_again_ends_the_same"],
    "5. what was judged is not judged again, and what changed is": [
        "test_classroom.py::test_what_was_judged_is_not_judged_again_and_what_changed_is"
    ],
    "6. without a sandbox nothing is graded, and the remedy is named": [
        "test_classroom.py::test_no_bubblewrap_is_a_sentence_with_a_remedy"
    ],
    "7. no submission holds the class, whatever it answers": [
        "test_patience.py::test_a_submission_has_a_time_as_a_whole",
        "test_patience.py::test_a_notebook_that_is_stopped_again_and_again_is_not_tried_for_ever",
        "test_patience.py::test_who_is_being_judged_is_named",
    ],
    "8. names from outside are data": [
        "test_classroom.py::test_what_was_refused_is_said_and_leaves_no_file",
        "test_classroom.py::test_exports",
        "test_classroom.py::test_feedback_runs_nothing_and_opens_alone",
    ],
    "9. hidden tests are neither shown nor named": [
        "test_marking.py::test_no_hidden_test_is_named",
        "test_marking.py::test_what_nobody_knows_is_no_number_and_names_nothing_hidden",
    ],
    "10. only where the text asks for it may an answer change its input": [
        "test_classroom.py::test_only_where_the_text_asks_for_it_may_an_answer_change_its_input"
    ],
    "11. words are found wherever students put them": [
        "test_words.py::test_found_under_its_question",
        "test_words.py::test_what_may_be_an_answer_is_for_a_person_to_look_at",
    ],
    "12. marks by hand go round through a spreadsheet and a page": [
        "test_marking.py::test_three_hundred_answers_are_marked_in_a_spreadsheet_and_come_back",
        "test_marking.py::test_the_page_in_a_browser_saves_the_sheet_that_is_read",
    ],
    "13. impossible marks are refused with their line": [
        "test_marks.py::test_what_cannot_be_meant_is_refused_with_its_line",
        "test_marking.py::test_no_criterion_earns_more_than_the_manifest_gives_it",
    ],
    "14. lateness and waivers are told": [
        "test_marking.py::test_points_before_and_after_lateness_and_the_waiver_are_told"
    ],
    "15. pseudonyms keep points and lose names": ["test_classroom.py::test_pseudonyms_keep_points_and_lose_names"],
    "16. feedback goes back through the LMS": [
        "test_returns.py::test_canvas_finds_every_student_by_the_name_of_the_notebook_that_was_handed_in",
        "test_returns.py::test_moodle_finds_every_student_by_the_folder_or_by_the_flat_name",
    ],
    "17. nbgrader's grade book can be fed": ["test_nbgrader.py::test_grade_book_is_filled_and_filled_again"],
    "18. what the instructor changed stays": [
        "test_assign.py::test_what_was_changed_by_hand_is_kept_and_told_to_students",
        "test_assign.py::test_two_changes_in_one_place_are_refused_with_a_list_and_nothing_is_written",
    ],
    "19. the handed-out folder is enough": ["test_assign.py::test_the_folder_holds_all_that_the_first_cell_needs"],
    "20. what is missing is named with a command that installs it": [
        "test_extras.py::test_what_is_missing_is_named_with_a_command_that_installs_it"
    ],
    "21. identity comes from where only the LMS or the owner writes": ["test_roster.py::test_who_is_meant_by_a_claim"],
    "22. what Jupyter runs earns its points": [
        "test_habits.py::test_the_notebook_is_right_in_ipython",
        "test_habits.py::test_the_notebook_earns_full_points",
        "hostile/test_whole.py::test_which_of_the_two_is_graded",
    ],
    "23. nothing passes from one submission to another": [
        "hostile/test_submissions.py::test_submission_a_leaves_nothing_for_b",
        "hostile/test_quiet.py::test_what_no_exercise_needs_is_refused",
    ],
    "24. a page looks the same however a program ends in a hidden test": [
        "hostile/test_quiet.py::test_a_students_page_looks_the_same_however_a_program_ends_in_a_hidden_test"
    ],
    "25. no attack earns more than its honest part": [
        "hostile/test_submissions.py::test_submission",
        "hostile/test_whole.py::test_an_attack_by_the_whole_run_earns_nothing",
    ],
    "26. no file of the machine and no secret of its environment is seen": [
        "hostile/test_quiet.py::test_places_that_tell_of_the_machine_hold_nothing",
        "hostile/test_submissions.py::test_environment_holds_no_secret",
    ],
    "27. what nobody can say yet is blank in every export, and listed": [
        "test_grades.py::test_grades",
        "test_grades.py::test_canvas",
        "test_grades.py::test_moodle",
        "test_grades.py::test_gradescope",
        "test_grades.py::test_nbgrader",
        "test_grades.py::test_whoever_has_no_total_is_listed_by_name_with_the_reason",
    ],
    "28. each number is bound to what it was made from": [
        "test_grades.py::test_every_number_tells_what_it_was_made_from",
        "test_audit_log.py::test_a_bundle_that_changed_is_noticed_and_nothing_is_written",
        "test_audit_log.py::test_a_mark_is_for_the_words_that_it_was_given_for",
    ],
    "29. two at once are refused": ["test_lock.py::test_a_second_is_refused_with_who_and_since_when"],
    "30. a killed worker loses nothing, and nothing goes in the clear": [
        "test_cluster.py::test_killed_worker_loses_nothing",
        "test_cluster.py::test_nothing_goes_to_another_machine_in_the_clear",
    ],
    "31. no honest hand-in is lost, and none counts as nothing": [
        "test_honest_hand_ins.py::test_the_only_notebook_of_a_student_is_taken_under_any_name",
        "test_honest_hand_ins.py::test_what_was_refused_is_blank_and_listed_and_never_nothing",
        "test_honest_hand_ins.py::test_a_result_that_the_audit_log_tells_otherwise_is_named_before_anything_is_written",
    ],
    "32. the manual's commands work word for word": ["test_instructors.py::test_every_command_of_the_guide_works"],
}


@cache
def named_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_is_held_by_tests_that_exist(promise):
    for name in PROMISES[promise]:
        file, _, test = name.partition("::")
        assert test in named_in(file), f"{promise} {name}"
