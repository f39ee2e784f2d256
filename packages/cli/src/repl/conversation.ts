import type { MeshClient } from '@flotilla/client/mesh-client'
import type { TypedLines } from './typed-lines.ts'

export interface Conversation {
  readonly client: MeshClient
  /** Who is asked. */
  agentId: string
  /** What is asked from now on is asked there. */
  session: string
  /** The project in use; null for the whole fleet. */
  project: string | null
  /** The run that was followed last. */
  lastRun: string | null
  readonly typed: TypedLines
  readonly interrupts: Interruptions
  /** Shows the prompt. */
  readonly show: () => void
  /** Takes the next line as an answer; null at the end of the input. */
  readonly ask: (question: string, isSecret: boolean) => Promise<string | null>
  /** Keeps what is typed during a run apart from what is said; null where lines wait for the end of the run. */
  readonly beside: (() => () => void) | null
}

export interface Interruptions {
  /** What Ctrl-C does from now on; null: it takes away what is typed, or ends the conversation where nothing is. */
  during(cancel: (() => void) | null): void
  close(): void
}
