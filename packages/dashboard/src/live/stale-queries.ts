import type { PeopleEndpointName } from '@flotilla/client/people-api'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'

type Stale = readonly PeopleEndpointName[]

const fleet: Stale = ['status']
const edits: Stale = [
  ...fleet,
  'agentConfig',
  'changes',
  'identityFiles',
  'identityFile',
  'permissionOrigins',
  'permissionsExplain',
  'mcpServers',
  'budgets',
]
const work: Stale = ['status', 'runs', 'run', 'runTrace']
const tasks: Stale = ['tasks', 'task', 'projects', 'project']
const board: Stale = ['blackboard', 'blackboardHistory', 'blackboardWatchList']
const topics: Stale = ['topicsView', 'topicSignals']
const browsers: Stale = ['browsers']
const approvals: Stale = ['pending', 'policy', 'policyStops', ...work, 'walletPayments', 'walletLimitsNow']
const money: Stale = ['budgets', 'costReport', 'status']

/** The answers that each event type makes outdated. An event type without an entry does not compile. */
export const staleQueries: Readonly<Record<FleetEventBody['type'], Stale>> = {
  'agent.created': fleet,
  'agent.started': fleet,
  'agent.stopped': fleet,
  'agent.died': fleet,
  'agent.changed': fleet,
  'agent.spawned': fleet,
  'agent.warned': fleet,
  'run.changed': [...work, 'runEvents', 'cronJobs', 'cronHistory'],
  'steer.changed': ['run', 'runs', 'runEvents'],
  'text.streamed': [],
  'tool.started': ['runEvents', 'runTrace'],
  'tool.ended': ['runEvents', 'runTrace'],
  'files.changed': ['runEvents', 'folder'],
  'task.changed': tasks,
  'message.changed': [],
  'project.changed': [...fleet, 'projects', 'project'],
  'blackboard.deleted': board,
  'blackboard.written': board,
  'artifact.saved': ['artifacts', 'artifact'],
  'model.called': [...money, 'runEvents', 'run', 'runs', 'runTrace'],
  'tokens.reported': [...money, 'runEvents', 'run', 'runs', 'runTrace'],
  'model.delayed': [],
  'model.cooling': [],
  'model.recovered': [],
  'call.denied': ['runEvents'],
  // A request for a credential adds a note.
  'note.added': ['credentialRequests'],
  'budget.changed': money,
  'budget.reached': money,
  'journal.broken': ['status'],
  'approval.asked': approvals,
  'approval.settled': approvals,
  'agent.edited': edits,
  'edit.undone': edits,
  'cron.changed': ['cronJobs', 'cronHistory', 'heartbeats'],
  'wall.failed': ['status'],
  'work.paused': ['status'],
  'work.resumed': ['status'],
  'permissions.broken': ['status'],
  'watch.fired': ['watchers'],
  'watch.troubled': ['watchers'],
  'watch.recovered': ['watchers'],
  'watchers.broken': ['watchers'],
  'signal.published': topics,
  'browser.opened': browsers,
  'browser.page': browsers,
  'browser.downloaded': [],
  'browser.handed': [...work, ...browsers],
  'browser.returned': [...work, ...browsers],
  'browser.closed': browsers,
  'browser.failed': browsers,
  'topic.subscribed': topics,
  'topic.unsubscribed': topics,
}
