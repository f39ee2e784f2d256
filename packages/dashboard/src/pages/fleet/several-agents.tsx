import { deletedWithAgent } from '@flotilla/client/agent-uses'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { PauseView } from '@flotilla/protocol/pause-api'
import type { BulkAction, BulkItem } from '../../data/bulk-action.ts'
import { useServices } from '../../data/use-mesh.ts'
import { BulkDialog } from '../../design/bulk-dialog.tsx'
import { staleAfterDeletion } from '../agent/delete-agent.tsx'
import { agentWords } from '../agent-state.ts'
import { whyNotResumed } from './why-not-resumed.ts'

interface AgentItem extends BulkItem {
  readonly view: AgentView
}

/** Pauses, resumes, archives, unarchives or deletes several agents. */
export function SeveralAgents({
  agents,
  pauses,
  onClose,
}: {
  readonly agents: readonly AgentView[]
  readonly pauses: readonly PauseView[]
  readonly onClose: () => void
}) {
  const { client } = useServices()
  const pause = ({ id }: AgentItem) =>
    client.call('pause', { body: { agent_id: id, reason: 'paused in the dashboard' } })
  const resume = ({ id }: AgentItem) => client.call('resume', { body: { agent_id: id } })
  const archive = ({ id }: AgentItem) => client.call('agentArchive', { params: { id } })
  const unarchive = ({ id }: AgentItem) => client.call('agentUnarchive', { params: { id } })
  const actions: readonly BulkAction<AgentItem>[] = [
    {
      name: 'Pause',
      past: 'paused',
      call: 'pause',
      effect:
        'Cron jobs, heartbeats, webhooks and watchers of these agents start nothing until you resume them. Chats work as usual, and current runs go on.',
      why: ({ view }) =>
        view.archived ? 'It is archived.' : view.paused === null ? null : 'It is paused already.',
      run: pause,
      undo: { call: 'resume', past: 'resumed', run: resume },
    },
    {
      name: 'Resume',
      past: 'resumed',
      call: 'resume',
      effect: 'Work that came due during the pause runs once for each agent.',
      why: ({ view }) => whyNotResumed(view, pauses),
      run: resume,
      undo: { call: 'pause', past: 'paused again', run: pause },
    },
    {
      name: 'Archive',
      past: 'archived',
      call: 'agentArchive',
      effect:
        'An archived agent is not started and gets no work. Its data is kept, and you can unarchive it.',
      why: ({ view }) =>
        view.kind === 'operator'
          ? 'The operator cannot be archived.'
          : view.archived
            ? 'It is archived already.'
            : view.busy
              ? 'It is working.'
              : null,
      run: archive,
      undo: { call: 'agentUnarchive', past: 'no longer archived', run: unarchive },
    },
    {
      name: 'Unarchive',
      past: 'no longer archived',
      call: 'agentUnarchive',
      effect: 'The agents get work again, and start with their next run.',
      why: ({ view }) => (view.archived ? null : 'It is not archived.'),
      run: unarchive,
      undo: { call: 'agentArchive', past: 'archived again', run: archive },
    },
    {
      name: 'Delete',
      past: 'deleted',
      call: 'agentDelete',
      effect: `This deletes each agent with ${deletedWithAgent} It cannot be undone; an agent that is working stops.`,
      danger: true,
      why: ({ view }) => (view.kind === 'operator' ? 'The operator cannot be deleted.' : null),
      run: ({ id }) => client.call('agentDelete', { params: { id } }),
    },
  ]
  const items = agents.map((view) => ({
    id: view.id,
    title: view.id,
    detail: `${agentWords(view)}${view.paused === null ? '' : ', paused'}`,
    agent: view.id,
    view,
  }))
  return (
    <BulkDialog thing="agent" items={items} actions={actions} stale={staleAfterDeletion} onClose={onClose} />
  )
}
