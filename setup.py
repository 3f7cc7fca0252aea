"""What pyproject.toml cannot say: a wheel holds the dashboard inside price_of_privacy, and no package `pages`."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithDashboard(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:  # the command then finds the clone
            return
        dashboard = Path(self.build_lib, "price_of_privacy", "dashboard")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree("pages", dashboard / "pages", ignore=ignored, dirs_exist_ok=True)
        for file in ("app.py", ".streamlit/config.toml"):
            (dashboard / file).parent.mkdir(exist_ok=True)
            shutil.copy2(file, dashboard / file)


setup(cmdclass={"build_py": WithDashboard})
