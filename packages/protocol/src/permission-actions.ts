/** An action that can be allowed or denied, described for people. */
export interface PermissionAction {
  readonly name: string
  /** What the resource of the action names, as text; null if the action has none. */
  readonly resource: string | null
  readonly example: string | null
}

/**
 * Every action that the mesh decides by permission, for help texts and for `permissions explain`. The mesh maps each
 * name to the action that its guard decides.
 */
export const permissionActions = [
  { name: 'message-agent', resource: 'id of the other agent', example: 'auditor' },
  { name: 'steer-agent', resource: 'id of the other agent', example: 'auditor' },
  { name: 'publish-topic', resource: 'topic', example: 'builds' },
  { name: 'subscribe-topic', resource: 'topic', example: 'builds' },
  { name: 'read-blackboard', resource: 'key', example: 'output/report' },
  { name: 'write-blackboard', resource: 'key', example: 'output/report' },
  { name: 'call-api', resource: 'name of the API', example: 'llm' },
  { name: 'use-credential', resource: 'name of the credential', example: 'github_token' },
  { name: 'use-browser', resource: 'browser action', example: 'navigate' },
  { name: 'manage-cron', resource: null, example: null },
  { name: 'spawn-agent', resource: null, example: null },
  { name: 'use-wallet', resource: 'chain', example: 'ethereum' },
  { name: 'spend-from-wallet', resource: 'CHAIN,USD or CHAIN,USD,CONTRACT', example: 'ethereum,2.50' },
  { name: 'manage-fleet', resource: null, example: null },
  { name: 'manage-agent', resource: 'id of the other agent', example: 'auditor' },
  { name: 'manage-projects', resource: null, example: null },
  { name: 'edit-agent-config', resource: 'id of the other agent', example: 'auditor' },
  { name: 'view-fleet', resource: null, example: null },
  { name: 'route-tasks', resource: null, example: null },
  { name: 'request-credential', resource: null, example: null },
  { name: 'manage-credentials', resource: null, example: null },
  { name: 'pause-work', resource: null, example: null },
  { name: 'manage-people', resource: null, example: null },
  { name: 'back-up', resource: null, example: null },
  { name: 'manage-webhooks', resource: null, example: null },
  { name: 'make-webhooks', resource: null, example: null },
  { name: 'list-agents', resource: null, example: null },
  { name: 'act-for-self', resource: 'id of the agent itself', example: 'auditor' },
  { name: 'submit-run', resource: 'id of an agent', example: 'auditor' },
] as const satisfies readonly PermissionAction[]

export type PermissionActionName = (typeof permissionActions)[number]['name']

/** Actions whose resource is the id of an agent: for a missing agent the answer would be meaningless. */
export const actionsOnAgents: readonly string[] = [
  'message-agent',
  'steer-agent',
  'manage-agent',
  'edit-agent-config',
  'act-for-self',
  'submit-run',
] satisfies readonly PermissionActionName[]

export function findPermissionAction(name: string): (typeof permissionActions)[number] | undefined {
  return permissionActions.find((action) => action.name === name)
}
