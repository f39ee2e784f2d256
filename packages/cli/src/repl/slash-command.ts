import type { MeshClient } from '@flotilla/client/mesh-client'
import { CommandFailed } from '../command-failed.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** What a command at the prompt may use. */
export interface SlashCall {
  readonly client: MeshClient
  readonly terminal: Terminal
  readonly agentId: string
  /** The conversation at the prompt. */
  readonly session: { readonly name: () => string; readonly change: (name: string) => void }
  /** The selected project; null for the whole fleet. */
  readonly project: { readonly name: () => string | null; readonly change: (name: string | null) => void }
  /** The run that was followed last; null before the first. */
  readonly lastRun: string | null
  readonly rest: readonly string[]
  /** Sends a steer to the agent's current run. */
  readonly say: (text: string) => Promise<void>
  /** Switches the conversation to another agent; rejects if no agent has this id. */
  readonly use: (agentId: string) => Promise<void>
  /** Rejects if no agent has that name. */
  readonly requireAgent: (agentId: string) => Promise<void>
  /** Runs a command line within the conversation; `input` replaces its standard input. */
  readonly run: (words: readonly string[], input?: string) => Promise<void>
  /** Sets what Ctrl-C does until the returned function is called. During an answer, Ctrl-C cancels the answer. */
  readonly onInterrupt: (cancel: () => void) => () => void
  /** Asks for a line; a secret is neither shown nor stored in the history. Rejects while an answer streams. */
  readonly ask: (question: string, isSecret: boolean) => Promise<string>
}

/** A command at the prompt of a conversation. */
export interface SlashCommand {
  readonly name: string
  readonly summary: string
  /** The command's arguments, for the list of commands and for usage errors. */
  readonly usage?: string
  /** Its first words, for completion. */
  readonly verbs?: readonly string[]
  /** The kind of the command's first argument, which is completed with names of the fleet. */
  readonly takes?: 'agent' | 'project'
  readonly run: (call: SlashCall) => Promise<void>
}

/** Returns a required argument; throws the usage of the command if it is missing. */
export function wanted(word: string | undefined, usage: string): string {
  if (word !== undefined && word !== '') return word
  throw new CommandFailed('wrong-usage', {
    detail: `Usage: ${usage}`,
    repair: 'Type /help for all commands.',
    exitCode: exitCodes.usage,
  })
}
