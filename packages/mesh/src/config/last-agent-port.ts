import * as z from 'zod'
import { readTextFile } from './atomic-file.ts'

const stateSchema = z.looseObject({ agent_port: z.int().min(1).max(65_535) })

/** Port of the agent door in the last life of a mesh that was killed; 0 where there is no trace of one. */
export async function lastAgentPort(stateFile: string): Promise<number> {
  const text = await readTextFile(stateFile)
  if (text === null) return 0
  try {
    return stateSchema.parse(JSON.parse(text)).agent_port
  } catch {
    return 0
  }
}
