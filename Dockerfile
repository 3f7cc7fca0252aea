# The dashboard in a container; docs/deployment.md says how to start it.
FROM python:3.11-slim
WORKDIR /app
# Kernels are compiled here and may run on another machine: without extensions that only some processors have.
ENV NUMBA_CPU_NAME=generic
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY app.py ./
COPY .streamlit/config.toml .streamlit/
COPY dpcore dpcore
COPY pages pages
# All that would be written later: while the dashboard runs, every file here can be read and none can be written.
RUN python -m dpcore warm && python -m compileall -q app.py dpcore pages && chmod -R a+rX .
USER 1000:1000
ENV STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_PORT=8501
EXPOSE 8501
HEALTHCHECK --start-period=60s --timeout=5s CMD ["python", "-c", "\
import http.client, os; \
server = http.client.HTTPConnection('127.0.0.1', int(os.environ['STREAMLIT_SERVER_PORT'])); \
server.request('GET', '/_stcore/health'); \
raise SystemExit(server.getresponse().status != 200)"]
CMD ["python", "-m", "streamlit", "run", "app.py"]
