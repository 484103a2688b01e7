"""Jobs of APScheduler in a job store of SQLAlchemy."""
import time
from datetime import datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

ran = []


def job(number):
    ran.append(number)


if __name__ == "__main__":
    stores = {"default": SQLAlchemyJobStore(url="sqlite:///app.db")}
    scheduler = BackgroundScheduler(jobstores=stores, executors={"default": ThreadPoolExecutor(1)})
    scheduler.start()
    now = datetime.now()
    for number in range(30):
        scheduler.add_job(job, "date", run_date=now + timedelta(seconds=1 + number / 20), args=[number], id=str(number), misfire_grace_time=60)
    scheduler.add_job(job, "interval", seconds=0.5, args=[-1], id="often")
    time.sleep(4)
    scheduler.reschedule_job("often", trigger="interval", seconds=3600)
    scheduler.shutdown()
    assert len(ran) > 30
