import type { PermissionActionName } from './permission-actions.ts'
import type { ControlPlaneFlag } from './permission-record.ts'

/** Kinds of work for which the operator receives a playbook: `operator-playbooks.ts`. */
export type Playbook = 'team_build' | 'edit' | 'monitor' | 'feedback' | 'credentials'

export interface OperatorTool {
  readonly name: string
  /** The permission that the operator needs; without it the tool is not offered. */
  readonly needs: PermissionActionName
  /** The playbook that is added to the conversation once the operator has used the tool. */
  readonly playbook: Playbook
  /** One line for the operator's bootstrap files. */
  readonly summary: string
}

/**
 * What the operator can do to the fleet. The offered tools, the text of its bootstrap files and the mesh's list of
 * allowed tools all come from this table, so that they cannot contradict each other.
 */
export const operatorTools = [
  {
    name: 'inspect_fleet',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'every agent with its state, queue, cost and refusals',
  },
  {
    name: 'inspect_agent',
    needs: 'view-fleet',
    playbook: 'edit',
    summary: 'how one agent is set up, and one of its texts',
  },
  {
    name: 'list_tasks',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'tasks of the fleet, newest first',
  },
  {
    name: 'list_stale_tasks',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'open tasks without any change for hours',
  },
  {
    name: 'review_task',
    needs: 'route-tasks',
    playbook: 'feedback',
    summary: 'judges an ended task: accepted, rework or rejected; its agent learns from it',
  },
  {
    name: 'read_audit',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'what was decided and done, from the journal',
  },
  { name: 'create_agent', needs: 'manage-fleet', playbook: 'team_build', summary: 'a new worker' },
  {
    name: 'restart_agent',
    needs: 'manage-fleet',
    playbook: 'monitor',
    summary: 're-creates the container of an agent',
  },
  {
    name: 'stop_agent',
    needs: 'manage-fleet',
    playbook: 'monitor',
    summary: 'stops the container of an agent until work reaches it',
  },
  {
    name: 'hibernate_agent',
    needs: 'manage-fleet',
    playbook: 'monitor',
    summary: 'puts an idle agent to sleep until work reaches it',
  },
  {
    name: 'archive_agent',
    needs: 'manage-fleet',
    playbook: 'edit',
    summary: 'archives a worker with everything it has; it gets no work',
  },
  {
    name: 'restore_agent',
    needs: 'manage-fleet',
    playbook: 'edit',
    summary: 'restores an archived worker',
  },
  {
    name: 'delete_agent',
    needs: 'manage-fleet',
    playbook: 'edit',
    summary: 'asks a person to delete an agent; nothing happens until they confirm it',
  },
  {
    name: 'list_pending',
    needs: 'manage-fleet',
    playbook: 'edit',
    summary: 'your requests that wait for a person',
  },
  {
    name: 'cancel_pending',
    needs: 'manage-fleet',
    playbook: 'edit',
    summary: 'cancels one of your requests',
  },
  {
    name: 'edit_agent',
    needs: 'edit-agent-config',
    playbook: 'edit',
    summary: 'changes a text, role, model, budget or permissions of an agent, at once',
  },
  {
    name: 'undo_change',
    needs: 'edit-agent-config',
    playbook: 'edit',
    summary: 'undoes one of your changes within its time limit',
  },
  {
    name: 'list_changes',
    needs: 'edit-agent-config',
    playbook: 'edit',
    summary: 'your changes and until when they can be undone',
  },
  {
    name: 'set_heartbeat',
    needs: 'edit-agent-config',
    playbook: 'edit',
    summary: 'sets how often a worker has a heartbeat, or turns it off',
  },
  {
    name: 'list_templates',
    needs: 'manage-fleet',
    playbook: 'team_build',
    summary: 'ready teams by name',
  },
  {
    name: 'apply_template',
    needs: 'manage-fleet',
    playbook: 'team_build',
    summary: 'creates the missing agents of a ready team',
  },
  {
    name: 'list_queue',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'what one agent works on, what waits in its lane, what ended last',
  },
  {
    name: 'read_costs',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'every budget and what is spent of it',
  },
  {
    name: 'read_messages',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'what agents asked each other, and the answers',
  },
  {
    name: 'save_observations',
    needs: 'view-fleet',
    playbook: 'monitor',
    summary: 'keeps what you saw of the fleet for your next heartbeats',
  },
] as const satisfies readonly OperatorTool[]

/** The flag of the permission record behind each need. */
export const operatorFlags = {
  'view-fleet': 'can_view_fleet_metrics',
  'manage-fleet': 'can_manage_fleet',
  'edit-agent-config': 'can_edit_agent_config',
  'route-tasks': 'can_route_tasks',
} as const satisfies Record<(typeof operatorTools)[number]['needs'], ControlPlaneFlag>

export type OperatorToolName = (typeof operatorTools)[number]['name']
