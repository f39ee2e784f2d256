import * as z from 'zod'
import { readTextFile } from './atomic-file.ts'

const port = z.int().min(1).max(65_535)
const stateSchema = z.looseObject({ agent_port: port, proxy_port: port.optional() })

/** Ports of agent API and proxy of the previous process if it was killed; 0 if unknown. */
export async function lastPorts(
  stateFile: string,
): Promise<{ readonly agentPort: number; readonly proxyPort: number }> {
  const text = await readTextFile(stateFile)
  if (text === null) return { agentPort: 0, proxyPort: 0 }
  try {
    const state = stateSchema.parse(JSON.parse(text))
    return { agentPort: state.agent_port, proxyPort: state.proxy_port ?? 0 }
  } catch {
    return { agentPort: 0, proxyPort: 0 }
  }
}
