import type { MeshClient } from '@flotilla/client/mesh-client'
import { oneLine } from './terminal/color.ts'
import { formatCount } from './terminal/format.ts'
import type { Terminal } from './terminal/terminal.ts'

const nameColumnsMax = 80
/** The maximum number of lines that are shown; further lines are only counted. */
const shownMax = 20

/** What starts runs of an agent automatically, one line each; what is switched off starts none. */
export async function usesOf(
  client: MeshClient,
  agentId: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [watching, cron, hooks, heartbeats] = await Promise.all([
    client.call('watchers', { signal }),
    client.call('cronJobs', { query: { agent: agentId }, signal }),
    client.call('webhooks', { signal }),
    client.call('heartbeats', { signal }),
  ])
  const name = (text: string) => oneLine(text, nameColumnsMax)
  return [
    ...watching.watchers
      .filter(({ agent }) => agent === agentId)
      .map(
        ({ path, line }) =>
          `watcher of ${name(path)} (config/watchers.yaml line ${line}; it stays but has no agent)`,
      ),
    ...cron.jobs
      .filter(({ agent, heartbeat, enabled }) => agent === agentId && enabled && !heartbeat)
      .map(({ id, schedule }) => `cron job ${name(id)} (${name(schedule)})`),
    ...hooks.webhooks
      .filter(({ agent_id: id, enabled }) => id === agentId && enabled)
      .map(({ id, name: title }) => `webhook ${name(title)} (${id})`),
    ...heartbeats.heartbeats
      .filter((heartbeat) => heartbeat.agent_id === agentId && heartbeat.schedule !== null)
      .map(({ schedule }) => `its heartbeat (${name(schedule ?? '')})`),
  ]
}

/** Pure. */
export function usesLines(
  agentId: string,
  uses: readonly string[],
  { color }: Pick<Terminal, 'color'>,
): string[] {
  const left = uses.length - shownMax
  return [
    color.warning(`Triggers that give work to agent ${agentId}:`),
    ...uses.slice(0, shownMax).map((use) => `  ${use}`),
    ...(left > 0 ? [`  … and ${left} more`] : []),
  ]
}

/** Says what the deletion of an agent removes, and how many triggers still start its runs. Pure. */
export function describeDeletion(agentId: string, uses: readonly string[]): string {
  const effect = `delete removes agent ${agentId} and its data permanently`
  return uses.length === 0
    ? effect
    : `${effect}, although ${formatCount(uses.length, 'trigger')} can start it`
}
