import type { RunView } from '@flotilla/protocol/run'
import { conversationKey } from '@flotilla/protocol/own-names'
import { useOwnNames } from '../../data/use-own-names.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { conversationNames } from './conversation-names.ts'
import { runsListed } from './use-other-runs.ts'

/**
 * Returns the conversations of an agent with their names, and a function that names one for this person. `open` is
 * listed also without messages.
 */
export function useConversations(
  agent: string,
  { runs, open }: { readonly runs: readonly RunView[]; readonly open: readonly string[] },
) {
  const known = useMesh('chatSessions', { params: { id: agent } })
  const tasks = useMesh('tasks', { query: { agent, limit: runsListed } })
  const [names, giveName] = useOwnNames('conversations')
  const titles = new Map((tasks.data?.tasks ?? []).map(({ id, title }) => [id, title]))
  const sessions = known.data?.sessions ?? []
  const given = (session: string) => names[conversationKey(agent, session)]
  const give = (session: string, name: string) => giveName(conversationKey(agent, session), name)
  return { named: conversationNames({ sessions }, { runs, open, given, titles }), give }
}
