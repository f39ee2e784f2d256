import type { Endpoint } from './endpoint.ts'

/**
 * Figures of the fleet, for the operator on the agent API and for programs of this machine on loopback. Plain values
 * without schemas, so that the operator's first run need not load the schemas of `operator-api.ts`.
 */
export const operatorViewEndpoints = {
  metrics: { method: 'GET', path: '/mesh/operator/metrics', summary: 'Return metrics of the whole fleet.' },
  agentMetrics: {
    method: 'GET',
    path: '/mesh/operator/agents/{id}/metrics',
    summary: 'Return metrics of one agent.',
  },
  staleTasks: {
    method: 'GET',
    path: '/mesh/operator/stale-tasks',
    summary: 'List open tasks without any change for hours.',
  },
  tasks: { method: 'GET', path: '/mesh/operator/tasks', summary: 'List tasks of the fleet, newest first.' },
  audit: { method: 'GET', path: '/mesh/operator/audit', summary: 'List audit log rows, oldest first.' },
} as const satisfies Record<string, Endpoint>

export type OperatorViewEndpointName = keyof typeof operatorViewEndpoints

/** Archives and restores agents with all their data; for the operator and programs of this machine alike. */
export const operatorArchiveEndpoints = {
  archived: {
    method: 'GET',
    path: '/mesh/operator/archive',
    summary: 'List the archived agents.',
  },
  archive: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/archive',
    summary: 'Archive a worker. Its data stays.',
  },
  unarchive: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/unarchive',
    summary: 'Restore an archived worker.',
  },
} as const satisfies Record<string, Endpoint>

export type OperatorArchiveEndpointName = keyof typeof operatorArchiveEndpoints

/** The operator's actions on the fleet, on the agent API alone. */
export const operatorEndpoints = {
  tools: {
    method: 'GET',
    path: '/mesh/operator/tools',
    summary: 'List the names of the tools that the operator may use now.',
  },
  agents: { method: 'GET', path: '/mesh/operator/agents', summary: 'List all agents with state and cost.' },
  agentConfig: {
    method: 'GET',
    path: '/mesh/operator/agents/{id}',
    summary: 'Return the configuration of an agent.',
  },
  agentFile: {
    method: 'GET',
    path: '/mesh/operator/agents/{id}/files/{file}',
    summary: 'Return one workspace file of an agent.',
  },
  agentCreate: { method: 'POST', path: '/mesh/operator/agents', summary: 'Create a worker.' },
  agentEdit: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/edit',
    summary: 'Change one field of an agent within the operator’s ceiling.',
  },
  agentRestart: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/restart',
    summary: 'Restart an agent in a new container.',
  },
  agentStop: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/stop',
    summary: 'Stop an agent’s container.',
  },
  agentHibernate: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/hibernate',
    summary: 'Hibernate an idle agent.',
  },
  agentDelete: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/delete',
    summary: 'Request a person’s approval to delete an agent.',
  },
  changes: {
    method: 'GET',
    path: '/mesh/operator/changes',
    summary: 'List changes by the operator, newest first.',
  },
  changeUndo: {
    method: 'POST',
    path: '/mesh/operator/changes/{token}/undo',
    summary: 'Undo a change by the operator.',
  },
  templates: { method: 'GET', path: '/mesh/operator/templates', summary: 'List the names of the templates.' },
  templateApply: {
    method: 'POST',
    path: '/mesh/operator/templates/{name}/apply',
    summary: 'Create the missing agents of a template within the operator’s ceiling.',
  },
  agentRuns: {
    method: 'GET',
    path: '/mesh/operator/agents/{id}/runs',
    summary: 'List an agent’s newest runs, queued ones included.',
  },
  budgets: {
    method: 'GET',
    path: '/mesh/operator/budgets',
    summary: 'List all budgets with the amounts spent.',
  },
  messages: { method: 'GET', path: '/mesh/operator/messages', summary: 'List messages between agents.' },
  agentHeartbeat: {
    method: 'PUT',
    path: '/mesh/operator/agents/{id}/heartbeat',
    summary: 'Set the interval of a worker’s heartbeat.',
  },
  pending: {
    method: 'GET',
    path: '/mesh/operator/pending',
    summary: 'List the operator’s requests that wait for approval.',
  },
  pendingCancel: {
    method: 'POST',
    path: '/mesh/operator/pending/{id}/cancel',
    summary: 'Withdraw a request of the operator.',
  },
} as const satisfies Record<string, Endpoint>

export type OperatorEndpointName = keyof typeof operatorEndpoints
