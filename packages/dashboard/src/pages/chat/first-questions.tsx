import { useState } from 'react'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { Tour } from './tour.tsx'

const ofOperator = [
  'Who is in this fleet, and what could each of you do for me today?',
  'Create an agent that reads a web page that I name, and tells me what is new there every morning.',
  'What did the fleet do and cost in the last 24 hours?',
] as const
const ofWorker = [
  'What can you do for me? Answer in three sentences, with an example of each.',
  'Show me what is in your folder, and what you remember.',
  'Which permissions do you have, and what would you need one more for?',
] as const

/** An empty conversation: what the agent is for, and three things to try. A choice goes into the input field. */
export function FirstQuestions({
  agent: { id, kind, role },
  onChoose,
}: {
  readonly agent: AgentView
  readonly onChoose: (question: string) => void
}) {
  const [touring, setTouring] = useState(false)
  const isOperator = kind === 'operator'
  return (
    <div className="empty">
      <strong>{isOperator ? 'What shall your fleet do?' : `No messages with ${id} yet`}</strong>
      <p>
        {isOperator
          ? 'The operator knows all agents, creates new ones and gives them work. Ask it for anything; three things to try:'
          : role === ''
            ? 'Ask this agent something; three things to try:'
            : role}
      </p>
      <div className="first-questions" role="group" aria-label="Things to try">
        {(isOperator ? ofOperator : ofWorker).map((question) => (
          <button key={question} type="button" className="button" onClick={() => onChoose(question)}>
            {question}
          </button>
        ))}
      </div>
      {isOperator && (
        <button type="button" className="button small quiet" onClick={() => setTouring(true)}>
          Show me around
        </button>
      )}
      {touring && <Tour onClose={() => setTouring(false)} />}
    </div>
  )
}
