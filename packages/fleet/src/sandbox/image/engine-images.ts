import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { SandboxError } from '../sandbox-error.ts'

/** How many build events are kept for the error message. */
const keptEventsMax = 200

const eventSchema = z.looseObject({ stream: z.string().nullish(), error: z.string().nullish() })

/** Reads the engine's progress to its end. Rejects with the engine's error and the output before the error. */
export function followEngine(engine: Engine, stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    const output: string[] = []
    let refusal: string | null = null
    engine.docker.modem.followProgress(
      stream,
      (error: Error | null) => {
        const reason = error?.message ?? refusal
        if (reason === null) resolve()
        else
          reject(
            new SandboxError('engine-refused', `${reason}\n${output.join('').trim().slice(-1_500)}`, {
              cause: error,
            }),
          )
      },
      (raw: unknown) => {
        const event = eventSchema.safeParse(raw).data
        if (event?.stream) output.push(event.stream)
        if (output.length > keptEventsMax) output.shift()
        // An engine reports a failed build step as an entry of a stream that otherwise ends normally.
        refusal ??= event?.error ?? null
      },
    )
  })
}

/** Returns whether the engine refused a request with this HTTP status. */
export function isStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'statusCode' in error && error.statusCode === status
}
