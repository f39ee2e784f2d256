import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { operatorAgentId } from '@flotilla/protocol/ids'

/** The permissions of a new operator: it leads the fleet, without wallet and without the right to spawn. */
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

/** The permissions of a new worker: it may use models, fetch, answer the operator and write shared keys. */
export const workerDefaultRecord: PermissionRecord = permissionRecordSchema.parse({
  can_message: [operatorAgentId],
  blackboard_read: ['*'],
  blackboard_write: ['tasks/**', 'context/**', 'status/**', 'output/**', 'artifacts/**'],
  allowed_apis: ['llm', 'http', 'web_search'],
})
