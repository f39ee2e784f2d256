import { readHeartbeatContext } from '../workspace/heartbeat-context.ts'
import type { HeartbeatSources } from '../workspace/heartbeat-context.ts'
import type { Routes } from './http-server.ts'

export function heartbeatRoutes(sources: HeartbeatSources): Pick<Routes, 'heartbeatContext'> {
  return { heartbeatContext: () => readHeartbeatContext(sources) }
}
