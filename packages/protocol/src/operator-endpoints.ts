import type { Endpoint } from './endpoint.ts'

/**
 * Figures of the fleet, for the operator on the agent API and for programs of this machine on loopback. Plain values
 * without schemas, so that the operator's first run need not load the schemas of `operator-api.ts`.
 */
export const operatorViewEndpoints = {
  metrics: { method: 'GET', path: '/mesh/operator/metrics', summary: 'The whole fleet in figures' },
  agentMetrics: {
    method: 'GET',
    path: '/mesh/operator/agents/{id}/metrics',
    summary: 'One agent in figures',
  },
  staleTasks: {
    method: 'GET',
    path: '/mesh/operator/stale-tasks',
    summary: 'Open tasks that nothing happened to for hours',
  },
  tasks: { method: 'GET', path: '/mesh/operator/tasks', summary: 'Tasks of the fleet, newest first' },
  audit: { method: 'GET', path: '/mesh/operator/audit', summary: 'Rows of the journal, oldest first' },
} as const satisfies Record<string, Endpoint>

export type OperatorViewEndpointName = keyof typeof operatorViewEndpoints

/** Archives and restores agents with all their data; for the operator and programs of this machine alike. */
export const operatorArchiveEndpoints = {
  archived: {
    method: 'GET',
    path: '/mesh/operator/archive',
    summary: 'The agents that are archived',
  },
  archive: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/archive',
    summary: 'Puts a worker away with everything it has',
  },
  unarchive: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/unarchive',
    summary: 'Takes an archived worker back',
  },
} as const satisfies Record<string, Endpoint>

export type OperatorArchiveEndpointName = keyof typeof operatorArchiveEndpoints

/** The operator's actions on the fleet, on the agent API alone. */
export const operatorEndpoints = {
  tools: {
    method: 'GET',
    path: '/mesh/operator/tools',
    summary: 'Names of the tools that the operator may use now',
  },
  agents: { method: 'GET', path: '/mesh/operator/agents', summary: 'Every agent with its state and cost' },
  agentConfig: { method: 'GET', path: '/mesh/operator/agents/{id}', summary: 'How an agent is set up' },
  agentFile: {
    method: 'GET',
    path: '/mesh/operator/agents/{id}/files/{file}',
    summary: 'One workspace text of an agent',
  },
  agentCreate: { method: 'POST', path: '/mesh/operator/agents', summary: 'Creates a worker' },
  agentEdit: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/edit',
    summary: 'Changes one thing of an agent, below the ceiling',
  },
  agentRestart: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/restart',
    summary: 'Re-creates the container of an agent',
  },
  agentStop: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/stop',
    summary: 'Stops the container of an agent',
  },
  agentHibernate: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/hibernate',
    summary: 'Puts an idle agent to sleep',
  },
  agentDelete: {
    method: 'POST',
    path: '/mesh/operator/agents/{id}/delete',
    summary: 'Asks a person to delete an agent',
  },
  changes: {
    method: 'GET',
    path: '/mesh/operator/changes',
    summary: 'Changes of the operator, newest first',
  },
  changeUndo: {
    method: 'POST',
    path: '/mesh/operator/changes/{token}/undo',
    summary: 'Takes back a change of the operator',
  },
  templates: { method: 'GET', path: '/mesh/operator/templates', summary: 'Names of the templates' },
  templateApply: {
    method: 'POST',
    path: '/mesh/operator/templates/{name}/apply',
    summary: 'Creates those agents of a template that are not there, below the ceiling',
  },
  agentRuns: {
    method: 'GET',
    path: '/mesh/operator/agents/{id}/runs',
    summary: 'The newest runs of an agent, what waits among them',
  },
  budgets: { method: 'GET', path: '/mesh/operator/budgets', summary: 'Every budget and what is spent of it' },
  messages: { method: 'GET', path: '/mesh/operator/messages', summary: 'What agents asked each other' },
  agentHeartbeat: {
    method: 'PUT',
    path: '/mesh/operator/agents/{id}/heartbeat',
    summary: 'How often a worker looks around by itself',
  },
  pending: { method: 'GET', path: '/mesh/operator/pending', summary: 'What the operator asked a person for' },
  pendingCancel: {
    method: 'POST',
    path: '/mesh/operator/pending/{id}/cancel',
    summary: 'Takes back what the operator asked for',
  },
} as const satisfies Record<string, Endpoint>

export type OperatorEndpointName = keyof typeof operatorEndpoints
