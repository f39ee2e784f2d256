import type { Facts, Finding, MessageFact } from '../facts.ts'

/**
 * Checks that a run that messaged another agent is notified of the answer once, by one note. Its model reads the
 * answer in one place of the conversation, whether the call waited for the answer or not.
 */
export function checkMessages({ messages, notes, letters, runs, answersSeen }: Facts): Finding[] {
  const twice = [...answersSeen]
    .filter(([, times]) => times > 1)
    .map(([id, times]) =>
      finding('answer-twice', `the answer to ${id} stands ${times} times in one conversation`, []),
    )
  const found = messages.flatMap((message) => {
    // Messages that are kept for the operator's heartbeat get no answer.
    if (message.state === 'kept') return []
    if (message.state === 'sent')
      return [finding('message-open', 'a message was never answered', [describeMessage(message)])]
    const source = `message:${message.id}`
    const told = notes.filter((note) => note.runId === message.askingRunId && note.source === source).length
    const letter = letters.find((one) => one.source === source)
    if (told !== 1 && letter?.state !== 'undeliverable') {
      const evidence = [describeMessage(message), `its letter is ${letter?.state ?? 'not there'}`]
      return [finding('asking-run-told-not-once', `the run that asked was told ${told} times`, evidence)]
    }
    const asking = runs.find(({ id }) => id === message.askingRunId)
    if (told === 1 && asking?.state === 'done' && !answersSeen.has(message.callId)) {
      return [
        finding('answer-unread', 'an answer never reached the model that asked', [describeMessage(message)]),
      ]
    }
    return []
  })
  return [...twice, ...found]
}

function describeMessage({ id, callId, state, askingRunId, runId }: MessageFact): string {
  return `${id} of the call ${callId} is ${state}; asked by ${askingRunId}, answered by ${runId ?? 'nobody'}`
}

function finding(check: string, what: string, evidence: readonly string[]): Finding {
  return { check, what, evidence }
}
