import type { Metric } from '@flotilla/identity/kernel'

export const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Formats metrics as Prometheus text exposition format 0.0.4. Pure. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .map(({ name, kind, description, samples }) => {
      const lines = samples.map(
        ({ suffix = '', labels, value }) => `${name}${suffix}${labelText(labels ?? {})} ${value}`,
      )
      return [`# HELP ${name} ${description}`, `# TYPE ${name} ${kind}`, ...lines].join('\n')
    })
    .join('\n')
    .concat('\n')
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}
