import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { operatorAgentId } from '@flotilla/protocol/ids'

/** What a new operator starts with: it leads the fleet, and holds neither wallet nor the right to spawn. */
export const operatorDefaultRecord: PermissionRecord = permissionRecordSchema.parse({
  can_message: ['*'],
  blackboard_read: ['*'],
  blackboard_write: ['*'],
  allowed_apis: ['llm', 'http', 'web_search'],
  can_manage_fleet: true,
  can_manage_projects: true,
  can_edit_agent_config: true,
  can_view_fleet_metrics: true,
  can_route_tasks: true,
  can_request_user_credentials: true,
})

/** What a new worker starts with: it may think, fetch, answer the operator and write where work is shared. */
export const workerDefaultRecord: PermissionRecord = permissionRecordSchema.parse({
  can_message: [operatorAgentId],
  blackboard_read: ['*'],
  blackboard_write: ['tasks/**', 'context/**', 'status/**', 'output/**', 'artifacts/**'],
  allowed_apis: ['llm', 'http', 'web_search'],
})
