import type { MeshClient } from '@flotilla/client/mesh-client'
import type { TypedLines } from './typed-lines.ts'

export interface Conversation {
  readonly client: MeshClient
  /** Who is asked. */
  agentId: string
  /** The session for all following messages. */
  session: string
  /** The project in use; null for the whole fleet. */
  project: string | null
  /** The run that was followed last. */
  lastRun: string | null
  readonly typed: TypedLines
  readonly interrupts: Interruptions
  /** Shows the prompt. */
  readonly show: () => void
  /** Asks a question and takes the next typed line as the answer; null at the end of the input. */
  readonly ask: (question: string, isSecret: boolean) => Promise<string | null>
  /** Keeps text that is typed during a run separate from output; null if lines wait for the end of the run. */
  readonly beside: (() => () => void) | null
}

export interface Interruptions {
  /** Sets what Ctrl-C does. With null it deletes the typed text, or ends the conversation at an empty prompt. */
  during(cancel: (() => void) | null): void
  close(): void
}
