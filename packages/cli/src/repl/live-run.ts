import type { MeshClient } from '@flotilla/client/mesh-client'
import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { RunView } from '@flotilla/protocol/run'
import { formatOutcome } from './format-outcome.ts'
import { printable } from '../terminal/color.ts'
import type { MarkdownStream } from '../terminal/markdown-stream.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { fitLine } from '../terminal/fit-line.ts'
import { eventLine } from './event-line.ts'
import { formatStart, formatTurn, formatWait } from './format-wait.ts'
import type { DelayedEvent } from './format-wait.ts'
import { watchStart } from './watch-start.ts'

export interface LiveAsk {
  readonly agentId: string
  readonly message: string
  readonly session?: string
  readonly idempotencyKey: string
  readonly signal?: AbortSignal
  readonly clock: Clock
  /** Called with the run's id as soon as the mesh has created the run, so that it can be cancelled. */
  readonly onAccepted?: (runId: string) => void
  /** Called with every event of the run and its descendants. */
  readonly onEvent?: (event: FleetEventBody) => void
  /** True prints event lines on standard error instead of in the result. */
  readonly eventsBeside: boolean
}

/**
 * Asks an agent and shows what happens until the outcome arrives: tools and tasks as lines, the agent's text as it
 * streams. Returns the run that ended; its outcome's text has been shown once, which the caller confirms to the mesh.
 * Rejects with a Problem.
 */
export async function askLive(client: MeshClient, terminal: Terminal, ask: LiveAsk): Promise<RunView> {
  const screen = createRunScreen(terminal, ask, await markdownFor(terminal))
  const begun = new AbortController()
  const frames = client.chatStream(ask.agentId, ask.message, {
    idempotencyKey: ask.idempotencyKey,
    ...(ask.session === undefined ? {} : { session: ask.session }),
    signal: ask.signal,
    confirmsRead: true,
  })
  try {
    for await (const frame of frames) {
      if (frame.type === 'accepted') {
        ask.onAccepted?.(frame.run_id)
        screen.queued(frame.run_id)
        void watchStart({ client, clock: ask.clock }, ask.agentId, {
          signal: begun.signal,
          onWait: screen.startWaits,
        })
      }
      if (frame.type === 'event') {
        const { event } = frame
        ask.onEvent?.(event)
        if (isBegun(event, ask.agentId)) begun.abort()
        if (event.type === 'text.streamed' && event.agent_id === ask.agentId) screen.text(event.content)
        else if (event.type === 'model.delayed') screen.wait(event)
        else screen.event(event)
      }
      if (frame.type === 'ended') {
        screen.end(frame.run)
        return frame.run
      }
    }
    throw new Error('a chat stream ends with its outcome or a problem')
  } finally {
    begun.abort()
  }
}

/** True for the event with which the agent begins the run. */
function isBegun(event: FleetEventBody, agentId: string): boolean {
  return event.type === 'run.changed' && event.agent_id === agentId && event.state !== 'queued'
}

interface RunScreen {
  queued(runId: string): void
  /** Shows what the start of the agent waits for; null if it waits for nothing that is known. */
  startWaits(reason: string | null): void
  text(content: string): void
  event(event: FleetEventBody): void
  wait(event: DelayedEvent): void
  end(run: RunView): void
}

/** The parser of Markdown is loaded for terminals that show it rendered. */
async function markdownFor({ rendersMarkdown, color }: Terminal): Promise<MarkdownStream> {
  if (rendersMarkdown) return (await import('../terminal/markdown-stream.ts')).createMarkdownStream(color)
  return { write: printable, end: () => '' }
}

/** Separates streamed text from event lines, and keeps the final text from being shown twice. */
function createRunScreen(terminal: Terminal, ask: LiveAsk, markdown: MarkdownStream): RunScreen {
  /** The prefix of commands in messages, for the command line or the prompt of a conversation. */
  const before = ask.eventsBeside ? `${terminal.command} ` : '/'
  let paragraph = ''
  let last = ''
  /** The run whose waiting time is shown. */
  let waiting: string | null = null
  /** What the start of the agent waits for. */
  let startWait: string | null = null
  /** The run whose complete outcome is shown. */
  let currentRun: string | null = null

  function endParagraph(): void {
    if (!ask.eventsBeside) {
      terminal.stream(markdown.end())
      terminal.endRow()
    }
    if (paragraph.trim() !== '') last = paragraph.trim()
    paragraph = ''
  }

  function endWait(): void {
    if (waiting !== null) terminal.status(null)
    waiting = null
  }

  function line(text: string | null): void {
    if (text === null) return
    if (ask.eventsBeside) terminal.note(text)
    else terminal.print(text)
  }

  return {
    queued(runId) {
      currentRun = runId
      const words = (seconds: number) =>
        startWait === null ? formatTurn(ask.agentId, seconds, before) : formatStart(startWait, seconds)
      if (terminal.status(words)) waiting = runId
    },
    startWaits(reason) {
      // Without a status line, each new reason is one line.
      if (reason !== null && reason !== startWait && waiting === null)
        terminal.note(`${ask.agentId.padEnd(10)} ${formatStart(reason)}`)
      startWait = reason
    },
    text(content) {
      paragraph += content
      const shown = ask.eventsBeside ? '' : markdown.write(content)
      // Rendered text comes in whole lines; until the first of them the line on the wait stays.
      if (ask.eventsBeside || shown !== '') endWait()
      terminal.stream(shown)
    },
    event(event) {
      if (event.type === 'run.changed' && event.run_id === currentRun && event.outcome !== null) return
      const whole = eventLine(event, terminal.color, before)
      const isQuote = event.type === 'tool.started' || event.type === 'tool.ended'
      // A tool's input and output are cut to one row; the run's record has them whole.
      const text =
        whole !== null && isQuote && terminal.isInteractive ? fitLine(whole, terminal.columns - 1) : whole
      const isSteer = event.type === 'steer.changed'
      const isQueued = event.type === 'run.changed' && event.state === 'queued'
      if (!isSteer && !isQueued && 'run_id' in event && event.run_id === waiting) endWait()
      // Only some events end a paragraph of the answer; others may arrive during it.
      if (endsAnswer(event, ask.agentId)) endParagraph()
      line(text)
    },
    wait(event) {
      if (event.state === 'over') return endWait()
      if (terminal.status((seconds) => formatWait(event, seconds))) waiting = event.run_id
      else line(eventLine(event, terminal.color, before))
    },
    end(run) {
      endWait()
      const text = run.outcome?.text ?? ''
      endParagraph()
      if (run.outcome?.status !== 'done') {
        terminal.tell(formatOutcome(run))
        return
      }
      if (!ask.eventsBeside && last.endsWith(text.trim())) return
      if (text === '' || !terminal.rendersMarkdown) return terminal.printText(text)
      terminal.endRow()
      terminal.stream(`${markdown.write(text)}${markdown.end()}\n`)
    },
  }
}

/** True for events between two answers of the agent: a tool call, a wait, or a steer that it has read. */
function endsAnswer(event: FleetEventBody, agentId: string): boolean {
  if (event.type === 'run.changed') return event.agent_id === agentId && event.state === 'waiting'
  if (event.type === 'tool.started' || event.type === 'tool.ended') return event.agent_id === agentId
  return event.type === 'steer.changed' && event.state === 'taken' && event.agent_id === agentId
}
