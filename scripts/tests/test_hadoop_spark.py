"""What hadoop-jobs does around Spark's jobs: the settings of the page with this machine's servers, and a look at the files below."""

import pathlib
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "scripts/hadoop"))

import benchmarks  # noqa: E402 (found beside the scripts)
import spark  # noqa: E402

WHOLE = b"PAR1 rows PAR1"


def test_settings_keep_all_that_is_not_changed():
    text = spark.settings("a.first  1\na.second 2\n", {"a.second": "3"})
    assert text == "a.first 1\na.second 3\n"


def test_a_setting_that_the_page_does_not_have_is_an_error():
    with pytest.raises(benchmarks.Failed, match="a.third"):
        spark.settings("a.first 1\n", {"a.third": "3"})


def test_the_page_has_what_the_job_changes():
    names = [line.split()[0] for line in spark.DEFAULTS.read_text().splitlines()]
    assert "spark.hadoop.fs.farcache.servers" in names and "spark.driver.extraClassPath" in names


def test_files_that_are_whole_are_fine(tmp_path):
    (tmp_path / "part.parquet").write_bytes(WHOLE)
    (tmp_path / ".farcache").mkdir()
    (tmp_path / ".farcache/head").write_bytes(b"farcache-file 1")
    spark.require_ordinary(tmp_path)


@pytest.mark.parametrize("content", [b"farcache-file 1", WHOLE[:-1], b""])
def test_a_file_that_is_not_whole_is_found(tmp_path, content):
    (tmp_path / "part.parquet").write_bytes(content)
    with pytest.raises(benchmarks.Failed, match="part.parquet"):
        spark.require_ordinary(tmp_path)


def test_a_directory_without_tables_is_found(tmp_path):
    (tmp_path / "text").write_bytes(b"text")
    with pytest.raises(benchmarks.Failed, match="no table"):
        spark.require_ordinary(tmp_path)
