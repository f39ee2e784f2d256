import { useState } from 'react'
import { outcomeWords, taskActions, taskLimits } from '@flotilla/protocol/task-actions'
import type { ManageAction, TaskOutcome } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import { asSentence } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { ChoiceField } from '../../design/fields.tsx'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { offersOf } from './task-offers.ts'

const manageNames: Readonly<Record<ManageAction, string>> = {
  answer: 'Answer',
  retry: 'Retry',
  reroute: 'Reroute',
  cancel: 'Cancel',
}
const reviewNames: Readonly<Record<TaskOutcome, string>> = {
  accepted: 'Accept',
  rework: 'Rework',
  rejected: 'Reject',
}
const stale = ['tasks', 'task', 'projects', 'project'] as const

type Asked =
  | { readonly kind: 'manage'; readonly action: ManageAction }
  | { readonly kind: 'review'; readonly outcome: TaskOutcome }

/** Buttons for the actions that the task's state allows; actions that need a text ask for it first. */
export function TaskButtons({
  task,
  again,
}: {
  readonly task: TaskView
  readonly again: ReadonlySet<string>
}) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const review = useAction('taskReview', { stale })
  const { manage, review: outcomes } = offersOf(task, again)
  if (manage.length + outcomes.length === 0) return null
  return (
    <div className="row" role="group" aria-label={`What may be done with ${task.title}`}>
      {outcomes.map((outcome) => (
        <Act
          call="taskReview"
          agent={task.assignee}
          key={outcome}
          className="button small"
          disabled={review.isPending}
          onClick={() =>
            outcome === 'accepted'
              ? review.mutate({ params: { id: task.id }, body: { outcome } })
              : setAsked({ kind: 'review', outcome })
          }
        >
          {reviewNames[outcome]}
          {outcome === 'accepted' ? '' : ' …'}
        </Act>
      ))}
      {manage.map((action) => (
        <Act
          call="taskManage"
          agent={task.assignee}
          key={action}
          className="button small"
          onClick={() => setAsked({ kind: 'manage', action })}
        >
          {manageNames[action]} …
        </Act>
      ))}
      {asked?.kind === 'review' && (
        <ReviewDialog task={task} outcome={asked.outcome} close={() => setAsked(null)} />
      )}
      {asked?.kind === 'manage' && (
        <ManageDialog task={task} action={asked.action} close={() => setAsked(null)} />
      )}
    </div>
  )
}

function ReviewDialog({
  task,
  outcome,
  close,
}: {
  readonly task: TaskView
  readonly outcome: TaskOutcome
  readonly close: () => void
}) {
  const [comment, setComment] = useState('')
  const review = useAction('taskReview', {
    done: 'The review is added to the learnings of the agent.',
    stale,
  })
  return (
    <FormDialog
      title={`${reviewNames[outcome]}: ${task.title}`}
      words={asSentence(outcomeWords[outcome])}
      action={reviewNames[outcome]}
      busy={review.isPending || comment.trim() === ''}
      danger={outcome === 'rejected'}
      onClose={close}
      onSend={() =>
        review.mutate({ params: { id: task.id }, body: { outcome, comment } }, { onSuccess: close })
      }
    >
      <FormField label={`Why, for ${task.assignee}`}>
        <textarea
          className="input"
          rows={4}
          required
          autoFocus
          maxLength={taskLimits.feedbackMaxChars}
          value={comment}
          onChange={(event) => setComment(event.target.value)}
        />
      </FormField>
    </FormDialog>
  )
}

function ManageDialog({
  task,
  action,
  close,
}: {
  readonly task: TaskView
  readonly action: ManageAction
  readonly close: () => void
}) {
  const [note, setNote] = useState('')
  const [to, setTo] = useState('')
  const manage = useAction('taskManage', { stale })
  const status = useMesh('status')
  const others = (status.data?.agents ?? []).filter(
    ({ id, kind, archived }) => id !== task.assignee && kind === 'worker' && !archived,
  )
  const lacks = (action === 'answer' && note.trim() === '') || (action === 'reroute' && to === '')
  return (
    <FormDialog
      title={`${manageNames[action]}: ${task.title}`}
      words={taskActions[action].description}
      action={action === 'cancel' ? 'Cancel the task' : manageNames[action]}
      {...(action === 'cancel' ? { leave: 'Keep it' } : {})}
      busy={manage.isPending || lacks}
      danger={action === 'cancel'}
      onClose={close}
      onSend={() =>
        manage.mutate(
          { params: { id: task.id }, body: { action, note, ...(action === 'reroute' ? { to } : {}) } },
          { onSuccess: close },
        )
      }
    >
      {action === 'answer' && task.summary !== null && <p className="note plain-text">{task.summary}</p>}
      {action === 'reroute' && (
        <ChoiceField
          label="To"
          unchosen="Choose an agent"
          value={to}
          onChange={setTo}
          choices={others.map(({ id }) => id)}
        />
      )}
      <FormField label={action === 'answer' ? 'The answer' : 'Note (may be empty)'}>
        <textarea
          className="input"
          rows={3}
          maxLength={taskLimits.noteMaxChars}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </FormField>
    </FormDialog>
  )
}
