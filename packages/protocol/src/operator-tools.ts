import type { PermissionActionName } from './permission-actions.ts'
import type { ControlPlaneFlag } from './permission-record.ts'

export interface OperatorTool {
  readonly name: string
  /** What the operator must be allowed; the tool is offered only then. */
  readonly needs: PermissionActionName
  /** One line for the operator's briefing. */
  readonly summary: string
}

/**
 * What the operator can do to the fleet. One table for the tools that it is offered, the words of its briefing and
 * the list that the mesh answers with, so that none of them can promise what another refuses.
 */
export const operatorTools = [
  {
    name: 'inspect_fleet',
    needs: 'view-fleet',
    summary: 'every agent with its state, queue, cost and refusals',
  },
  { name: 'inspect_agent', needs: 'view-fleet', summary: 'how one agent is set up, and one of its texts' },
  { name: 'list_stale_tasks', needs: 'view-fleet', summary: 'open tasks that nothing happened to for hours' },
  { name: 'read_audit', needs: 'view-fleet', summary: 'what was decided and done, from the journal' },
  { name: 'create_agent', needs: 'manage-fleet', summary: 'a new worker' },
  { name: 'restart_agent', needs: 'manage-fleet', summary: 're-creates the container of an agent' },
  {
    name: 'stop_agent',
    needs: 'manage-fleet',
    summary: 'stops the container of an agent until work reaches it',
  },
  {
    name: 'delete_agent',
    needs: 'manage-fleet',
    summary: 'asks a person to delete an agent; nothing happens until they confirm it',
  },
  { name: 'list_pending', needs: 'manage-fleet', summary: 'what you asked for that waits for a person' },
  { name: 'cancel_pending', needs: 'manage-fleet', summary: 'takes back what you asked for' },
  {
    name: 'edit_agent',
    needs: 'edit-agent-config',
    summary: 'changes a text, role, model, budget or permissions of an agent, at once',
  },
  {
    name: 'undo_change',
    needs: 'edit-agent-config',
    summary: 'takes one of your changes back while it stands',
  },
  {
    name: 'list_changes',
    needs: 'edit-agent-config',
    summary: 'your changes and until when they can be undone',
  },
] as const satisfies readonly OperatorTool[]

/** The flag of the permission record behind each need. */
export const operatorFlags = {
  'view-fleet': 'can_view_fleet_metrics',
  'manage-fleet': 'can_manage_fleet',
  'edit-agent-config': 'can_edit_agent_config',
} as const satisfies Record<(typeof operatorTools)[number]['needs'], ControlPlaneFlag>

export type OperatorToolName = (typeof operatorTools)[number]['name']
