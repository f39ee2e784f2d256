/**
 * The tools whose definitions are in every prompt of an agent, if its permissions allow them. An agent finds the
 * others by `find_tools`, so that a prompt does not contain definitions that most runs never use.
 */
export const coreTools = {
  operator: [
    'list_agents',
    'hand_off',
    'manage_task',
    'read_task',
    'inspect_fleet',
    'notify_user',
    'memory_search',
    'memory_save',
    'run_command',
    'read_file',
    'http_request',
    'web_search',
    'use_skill',
  ],
  worker: [
    'run_command',
    'read_file',
    'write_file',
    'http_request',
    'web_search',
    'memory_search',
    'memory_save',
    'notify_user',
    'complete_task',
    'use_skill',
  ],
} as const satisfies Readonly<Record<'operator' | 'worker', readonly string[]>>

export const findToolName = 'find_tools'
export const callToolName = 'call_tool'
/** The two tools that find and call other tools; every prompt also contains their definitions. */
export const finderNames: readonly string[] = [findToolName, callToolName]

export interface FindableGroup {
  readonly name: string
  /** The purpose of the group. A model chooses a group by this line, so it uses the words of an agent at work. */
  readonly summary: string
  readonly tools: readonly string[]
}

/** All built-in tools, in groups by purpose; the prompt has one line per group. A tool is in exactly one group. */
export const findableGroups: readonly FindableGroup[] = [
  group('tasks', 'your tasks: questions, progress; tasks that you gave', [
    'check_inbox',
    'update_task',
    'complete_task',
    'read_task',
    'review_task',
    'manage_task',
  ]),
  group('agents', 'other agents, messages to them', [
    'list_agents',
    'hand_off',
    'message_agent',
    'steer_agent',
    'declare_capabilities',
    'notify_user',
  ]),
  group('blackboard', 'facts that all agents share', [
    'read_blackboard',
    'write_blackboard',
    'list_blackboard',
    'watch_blackboard',
  ]),
  group('schedule', 'recurring work, cron', ['set_cron', 'list_cron', 'remove_cron']),
  group('artifacts', 'finished files for others', ['save_artifact', 'list_artifacts', 'read_artifact']),
  group('files', 'files, pictures, your own instructions', [
    'read_file',
    'write_file',
    'list_files',
    'view_image',
    'update_workspace',
    'run_command',
  ]),
  group('memory', 'facts for later conversations', ['memory_search', 'memory_save', 'memory_forget']),
  group('web', 'web requests and web search', ['http_request', 'web_search']),
  group('browser', 'your own browser: pages, forms, downloads', [
    'browser_navigate',
    'browser_snapshot',
    'browser_click',
    'browser_click_xy',
    'browser_type',
    'browser_press_key',
    'browser_hover',
    'browser_scroll',
    'browser_fill_form',
    'browser_select',
    'browser_wait_for',
    'browser_find_text',
    'browser_go_back',
    'browser_go_forward',
    'browser_open_tab',
    'browser_switch_tab',
    'browser_close_tab',
    'browser_screenshot',
    'browser_upload_file',
    'browser_download',
    'browser_inspect_requests',
    'browser_reset',
  ]),
  group('subagents', 'parallel helpers', ['spawn_subagent', 'list_subagents', 'wait_for_subagent']),
  group('spawn', 'a new agent for one task', ['spawn_fleet_agent']),
  group('signals', 'topics to publish and subscribe', [
    'publish_signal',
    'read_signals',
    'subscribe_topic',
    'unsubscribe_topic',
  ]),
  group('credentials', 'secrets by handle', ['vault_list', 'vault_generate_secret', 'request_credential']),
  group('resources', 'more programs, a larger container', ['request_packages', 'request_size']),
  group('wallet', 'your address on a chain, balances, payments', [
    'wallet_address',
    'wallet_balance',
    'wallet_read_contract',
    'wallet_simulate',
    'wallet_transfer',
    'wallet_execute',
    'wallet_payments',
  ]),
  group('projects', 'projects', ['inspect_projects', 'manage_project', 'write_project']),
  group('fleet', 'what agents do and cost, who did what', [
    'inspect_fleet',
    'inspect_agent',
    'list_tasks',
    'list_stale_tasks',
    'list_queue',
    'read_costs',
    'read_messages',
    'read_audit',
    'save_observations',
  ]),
  group('team', 'create, restart, stop, archive, delete agents', [
    'create_agent',
    'list_templates',
    'apply_template',
    'restart_agent',
    'stop_agent',
    'hibernate_agent',
    'archive_agent',
    'restore_agent',
    'delete_agent',
  ]),
  group('changes', 'change agents; requests that wait for a person', [
    'edit_agent',
    'set_heartbeat',
    'undo_change',
    'list_changes',
    'list_pending',
    'cancel_pending',
  ]),
  group('skills', 'write tools of your own', ['create_skill', 'reload_skills', 'use_skill']),
  group('status', 'rounds, money, MCP servers', ['get_system_status', 'mcp_servers']),
]

function group(name: string, summary: string, tools: readonly string[]): FindableGroup {
  return { name, summary, tools }
}
