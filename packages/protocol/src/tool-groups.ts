import { browserActionNames, browserToolName } from './browser-actions.ts'
import { finderNames } from './findable-tools.ts'
import type { OperatorToolName } from './operator-tools.ts'

export interface ToolGroup {
  readonly name: string
  /** True if only the operator has the group. */
  readonly operatorOnly: boolean
  readonly summary: string
  /** Maps each tool's name within the group to the name by which a model calls it. */
  readonly tools: Readonly<Record<string, string>>
}

/**
 * The built-in tools of agents, by the groups of the specification and some further groups. Tools that are not
 * implemented are in no group, and neither are tools of MCP servers or skills that agents wrote.
 */
export const toolGroups = [
  {
    name: 'mesh_tool',
    operatorOnly: false,
    summary: 'work with other agents and the owner, and scheduled jobs',
    tools: named(
      'list_agents',
      'hand_off',
      'steer_agent',
      'message_agent',
      'declare_capabilities',
      'check_inbox',
      'complete_task',
      'update_task',
      'read_task',
      'review_task',
      'manage_task',
      'inspect_projects',
      'manage_project',
      'write_project',
      'read_blackboard',
      'write_blackboard',
      'list_blackboard',
      'watch_blackboard',
      'publish_signal',
      'read_signals',
      'subscribe_topic',
      'unsubscribe_topic',
      'notify_user',
      'save_artifact',
      'list_artifacts',
      'read_artifact',
      'set_cron',
      'list_cron',
      'remove_cron',
      'get_system_status',
    ),
  },
  {
    name: 'subagent_tool',
    operatorOnly: false,
    summary: 'sub-agents in the same process',
    tools: { spawn: 'spawn_subagent', list: 'list_subagents', wait: 'wait_for_subagent' },
  },
  {
    name: 'skill_tool',
    operatorOnly: false,
    summary: 'tools that the agent writes, guides that it has, and agents that it spawns for one task',
    tools: named('create_skill', 'reload_skills', 'use_skill', 'spawn_fleet_agent'),
  },
  {
    name: 'memory_tool',
    operatorOnly: false,
    summary: 'what the agent remembers',
    tools: named('memory_search', 'memory_save', 'memory_forget'),
  },
  {
    name: 'file_tool',
    operatorOnly: false,
    summary: 'files below /data',
    tools: named('read_file', 'write_file', 'list_files', 'view_image', 'update_workspace'),
  },
  {
    name: 'shell_tool',
    operatorOnly: false,
    summary: 'programs in the container',
    tools: named('run_command'),
  },
  {
    name: 'http_tool',
    operatorOnly: false,
    summary: 'web requests and web search, through the mesh',
    tools: named('http_request', 'web_search'),
  },
  {
    name: 'browser_tool',
    operatorOnly: false,
    summary: 'the agent’s own browser, which people can watch and take over',
    tools: named(...browserActionNames.map(browserToolName)),
  },
  {
    name: 'vault_tool',
    operatorOnly: false,
    summary: 'credentials, by handles without their values',
    tools: named('vault_list', 'vault_generate_secret', 'request_credential'),
  },
  {
    name: 'resource_tool',
    operatorOnly: false,
    summary: 'more programs in the container and another size of it, which a person grants',
    tools: named('request_packages', 'request_size'),
  },
  {
    name: 'wallet_tool',
    operatorOnly: false,
    summary: 'its own address on a chain, its balances, and payments from it within its limits',
    tools: named(
      'wallet_address',
      'wallet_balance',
      'wallet_read_contract',
      'wallet_simulate',
      'wallet_transfer',
      'wallet_execute',
      'wallet_payments',
    ),
  },
  {
    name: 'mcp_tool',
    operatorOnly: false,
    summary: 'state of the MCP servers of the agent, if it has any',
    tools: named('mcp_servers'),
  },
  {
    name: 'find_tool',
    operatorOnly: false,
    summary: 'the tools whose definitions are not in every prompt',
    tools: named(...finderNames),
  },
  {
    name: 'fleet_tool',
    operatorOnly: true,
    summary:
      'agents as a whole: view, create, restart, stop, hibernate, archive, request deletion; their costs, messages and tasks',
    tools: ofOperator(
      'inspect_fleet',
      'inspect_agent',
      'list_tasks',
      'list_stale_tasks',
      'read_audit',
      'create_agent',
      'restart_agent',
      'stop_agent',
      'hibernate_agent',
      'archive_agent',
      'restore_agent',
      'delete_agent',
      'list_templates',
      'apply_template',
      'list_queue',
      'read_costs',
      'read_messages',
      'save_observations',
    ),
  },
  {
    name: 'operator_tools',
    operatorOnly: true,
    summary: 'changes to agents, and requests that wait for a person',
    tools: ofOperator(
      'edit_agent',
      'undo_change',
      'list_changes',
      'list_pending',
      'cancel_pending',
      'set_heartbeat',
    ),
  },
] as const satisfies readonly ToolGroup[]

/** The groups of agents of this kind. */
export function groupsFor(kind: 'operator' | 'worker'): readonly ToolGroup[] {
  return toolGroups.filter((group) => kind === 'operator' || !group.operatorOnly)
}

/** The group of a tool; null for a tool of an MCP server or a skill. */
export function groupOf(tool: string): string | null {
  return toolGroups.find((group) => Object.values<string>(group.tools).includes(tool))?.name ?? null
}

function named(...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, name]))
}

function ofOperator(...names: readonly OperatorToolName[]): Readonly<Record<string, string>> {
  return named(...names)
}
