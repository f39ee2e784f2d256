import { oneLine } from '@flotilla/protocol/one-line'
import type { MeshClient } from './mesh-client.ts'

const nameMaxChars = 80

/** What the deletion of an agent removes and keeps, after "deletes the agent with". */
export const deletedWithAgent =
  'its container, everything below its /data, its saved artifacts, its tokens and its permissions. Its costs and its entries in the audit log are kept.'

/**
 * What starts runs of an agent automatically, one line each; what is switched off starts none. Names that people and
 * agents chose may have any character.
 */
export async function usesOf(
  client: Pick<MeshClient, 'call'>,
  agentId: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [watching, cron, hooks, heartbeats] = await Promise.all([
    client.call('watchers', { signal }),
    client.call('cronJobs', { query: { agent: agentId }, signal }),
    client.call('webhooks', { signal }),
    client.call('heartbeats', { signal }),
  ])
  const name = (text: string) => oneLine(text, nameMaxChars)
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
