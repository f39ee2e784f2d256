import type { RunView } from '@flotilla/protocol/run'
import { useKeptNames } from '../../data/use-kept.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { conversationNames } from './conversation-names.ts'
import { runsListed } from './use-other-runs.ts'

/** The most conversations that this browser has names for. */
const namesMax = 200

/**
 * Returns the conversations of an agent with their names, and a function that names one in this browser. `open` is
 * listed also without messages.
 */
export function useConversations(
  agent: string,
  { runs, open }: { readonly runs: readonly RunView[]; readonly open: readonly string[] },
) {
  const known = useMesh('chatSessions', { params: { id: agent } })
  const tasks = useMesh('tasks', { query: { agent, limit: runsListed } })
  const [given, give] = useKeptNames(`conversations.${agent}`, namesMax)
  const titles = new Map((tasks.data?.tasks ?? []).map(({ id, title }) => [id, title]))
  const sessions = known.data?.sessions ?? []
  return { named: conversationNames({ sessions }, { runs, open, given, titles }), give }
}
