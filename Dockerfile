# One image for both processes: `assay serve` (the door) and `assay work` (the court).
FROM python:3.13-slim AS build
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PROJECT_ENVIRONMENT=/opt/assay
RUN pip install --no-cache-dir "uv>=0.13,<1"
WORKDIR /src
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN uv sync --frozen --no-dev --no-install-project
COPY app app
COPY worker worker
COPY prompts prompts
COPY rubrics rubrics
RUN uv sync --frozen --no-dev --no-editable

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/assay assay
COPY --from=build /opt/assay /opt/assay
ENV PATH=/opt/assay/bin:$PATH PYTHONUNBUFFERED=1 ASSAY_HOST=0.0.0.0 ASSAY_PORT=8000 ASSAY_DATA_DIR=/var/lib/assay
USER 10001
WORKDIR /var/lib/assay
# The door alone. Set ASSAY_METRICS_ADDRESS to have /metrics at another port, and publish that to nobody but Prometheus.
# No HEALTHCHECK: `assay work` listens at nothing. Ask /livez and /readyz of `assay serve` from outside, as fly.toml does.
EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["assay", "serve"]
