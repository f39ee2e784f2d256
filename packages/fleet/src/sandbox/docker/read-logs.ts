import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import { logText } from '../engine/log-text.ts'

/** The maximum number of requested log lines; the log's rotation limits the size of a line. */
const logLinesMax = 2_000

/** Returns the last bytes that a container printed; empty if the container does not exist. */
export async function readLogs({ docker }: Engine, name: string, maxBytes: number): Promise<string> {
  const raw = await docker
    .getContainer(name)
    .logs({ stdout: true, stderr: true, follow: false, tail: logLinesMax })
    .catch((error: unknown) => {
      // A container that is being removed has no log; the engine answers with a conflict.
      if (isStatus(error, 404) || isStatus(error, 409)) return Buffer.alloc(0)
      throw error
    })
  return Buffer.from(logText(Buffer.from(raw)))
    .subarray(-maxBytes)
    .toString('utf8')
}
