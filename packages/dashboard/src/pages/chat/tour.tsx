import { Dialog, DialogDescription, DialogHeading } from '@ariakit/react/dialog'
import { useState } from 'react'
import { Link } from 'wouter'

interface TourStep {
  readonly title: string
  readonly words: string
  readonly path: string
  readonly place: string
}

const steps: readonly TourStep[] = [
  {
    title: 'Ask in Chat',
    words:
      'Every agent has a conversation, and the operator’s is the one to begin with: it hands work to the others. Esc stops a run, and what an agent asks you for appears in its conversation.',
    path: '/chat',
    place: 'Chat',
  },
  {
    title: 'See who works in Fleet',
    words:
      'Each agent runs in a container of its own. Its page shows its permissions, memory, files and schedule, and changes them; each change can be undone.',
    path: '/fleet',
    place: 'Fleet',
  },
  {
    title: 'Follow each step in Runs',
    words:
      'Everything that an agent does is a run: each model call and tool call with its time, tokens and cost, the arguments and the result.',
    path: '/runs',
    place: 'Runs',
  },
  {
    title: 'Keep control',
    words:
      'Actions that an agent may not do alone wait under Approvals. Costs shows what was spent, and no agent can spend more than its budget.',
    path: '/costs',
    place: 'Costs',
  },
]

/** Shows a new owner where things are, in four steps; each can be skipped. */
export function Tour({ onClose }: { readonly onClose: () => void }) {
  const [at, setAt] = useState(0)
  const step = steps[at]
  if (step === undefined) return null
  const isLast = at === steps.length - 1
  return (
    <Dialog open onClose={onClose} className="dialog" backdrop={<div className="veil" />}>
      <DialogHeading>{step.title}</DialogHeading>
      <DialogDescription>{step.words}</DialogDescription>
      <p className="small muted">
        Step {at + 1} of {steps.length} · <Link href={step.path}>Open {step.place}</Link>
      </p>
      <div className="actions">
        {!isLast && (
          <button type="button" className="button quiet" onClick={onClose}>
            Skip
          </button>
        )}
        {at > 0 && (
          <button type="button" className="button" onClick={() => setAt(at - 1)}>
            Back
          </button>
        )}
        <button type="button" className="button primary" onClick={() => (isLast ? onClose() : setAt(at + 1))}>
          {isLast ? 'Done' : 'Next'}
        </button>
      </div>
    </Dialog>
  )
}
