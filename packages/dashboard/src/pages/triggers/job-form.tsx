import { useId, useState } from 'react'
import { cronLimits } from '@flotilla/protocol/cron-api'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import { wireLimits } from '@flotilla/protocol/limits'
import { useAction, useServices } from '../../data/use-mesh.ts'
import { useWorkingAgents } from '../../data/use-working-agents.ts'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { describeUnread, fieldsOf, jobChange, jobOf, jobText, newJob, withReadSchedule } from './job-edit.ts'
import type { JobFields } from './job-edit.ts'
import { SchedulePreview, useSchedulePreview } from './schedule-preview.tsx'
import { looksLikeWords, scheduleExamples } from '@flotilla/protocol/schedule-words'
import { browserTimezone, timezones } from './timezones.ts'
import { AgentChoice, OnlyWhen, ToldWords } from './trigger-fields.tsx'

const names = { schedule: 'Schedule', timezone: 'Time zone', when: 'Only when' } as const
const stale = ['cronJobs', 'cronHistory'] as const

/** Creates or edits a job of an agent and shows the difference; both can be undone. */
export function JobForm({
  agentId: given,
  job,
  onClose,
}: {
  /** Null if the form lets the person select the agent. */
  readonly agentId: string | null
  /** Null for a new job. */
  readonly job: CronJobView | null
  readonly onClose: () => void
}) {
  const { client } = useServices()
  const examples = useId()
  const agents = useWorkingAgents('cronCreate')
  const [chosen, setChosen] = useState(given ?? '')
  const agentId = chosen === '' ? (agents?.[0] ?? '') : chosen
  // The job when the form was opened; later events do not alter it.
  const [before] = useState(job === null ? null : fieldsOf(job))
  const [typed, setTyped] = useState<JobFields>(before ?? { ...newJob, timezone: browserTimezone() })
  const after = withReadSchedule(typed)
  const isUnread = looksLikeWords(after.schedule)
  const preview = useSchedulePreview(isUnread ? { ...after, schedule: '' } : after)
  const create = useAction('cronCreate', {
    done: `${agentId} has another job.`,
    stale,
    undo: ({ id }) => ({
      by: 'cronRemove',
      run: () => client.call('cronRemove', { params: { id } }),
      done: 'The new job is removed again.',
    }),
  })
  const update = useAction('cronUpdate', {
    done: 'The job is changed.',
    stale,
    undo: ({ id }) => ({
      by: 'cronUpdate',
      run: () => client.call('cronUpdate', { params: { id }, body: undoing() }),
      done: 'The job is as it was.',
    }),
  })
  // Both requests have `seen`, so neither the change nor its undoing overwrites another person's later change.
  const changing = () => {
    const { change: next, back } = jobChange(before ?? newJob, after)
    return { ...next, seen: back }
  }
  const undoing = () => {
    const { change: next, back } = jobChange(before ?? newJob, after)
    return { ...back, seen: next }
  }
  const change = (part: Partial<JobFields>) => setTyped({ ...typed, ...part })
  const asksWords = job === null || job.mode === 'message'
  const fault =
    agentId === '' && agents !== undefined
      ? 'The fleet has no agent for the job.'
      : isUnread
        ? `Schedule: ${describeUnread(after.schedule)}`
        : preview?.fault && !preview.isOld
          ? `${names[preview.fault.field]}: ${preview.fault.reason}`
          : null
  const missing =
    after.schedule.trim() === ''
      ? 'Enter a schedule for the job.'
      : agentId === '' || preview === undefined || preview.isOld
        ? 'The schedule is being checked.'
        : asksWords && after.message.trim() === ''
          ? 'Enter what the agent shall do.'
          : null
  const save = (): void => {
    const done = { onSuccess: onClose }
    if (job === null) create.mutate({ body: jobOf(agentId, after) }, done)
    else update.mutate({ params: { id: job.id }, body: changing() }, done)
  }
  return (
    <EditDialog
      title={given === null ? 'A new job' : job === null ? `A new job for ${agentId}` : `Job of ${agentId}`}
      before={before === null ? '' : jobText(before)}
      after={jobText(after)}
      fault={fault ?? missing}
      isIncomplete={fault === null}
      busy={create.isPending || update.isPending}
      onSave={save}
      onClose={onClose}
    >
      <div className="form-row">
        {given === null && <AgentChoice agents={agents ?? []} value={agentId} onChange={setChosen} />}
        <FormField
          label="Schedule"
          hint="In words, such as every morning at 9; or five fields of cron, or every 15m."
        >
          <input
            className="input wide"
            list={examples}
            maxLength={cronLimits.scheduleMaxChars}
            spellCheck={false}
            value={typed.schedule}
            onChange={(event) => change({ schedule: event.target.value })}
          />
        </FormField>
        <FormField
          label="Time zone"
          hint={
            /^every\s+\d/i.test(after.schedule.trim())
              ? 'Intervals are the same in each time zone.'
              : 'The due times are in this time zone.'
          }
        >
          <select
            className="input wide"
            value={after.timezone}
            onChange={(event) => change({ timezone: event.target.value })}
          >
            {timezones(after.timezone).map((zone) => (
              <option key={zone} value={zone === 'UTC' ? '' : zone}>
                {zone}
              </option>
            ))}
          </select>
        </FormField>
      </div>
      <datalist id={examples}>
        {scheduleExamples.map((example) => (
          <option key={example} value={example} />
        ))}
      </datalist>
      {!isUnread && preview !== undefined && preview.fault?.field !== 'schedule' && (
        <SchedulePreview schedule={after.schedule} next={preview.next} isOld={preview.isOld} />
      )}
      {asksWords && (
        <ToldWords
          value={after.message}
          maxLength={wireLimits.chatMessageMaxChars}
          onChange={(message) => change({ message })}
        />
      )}
      <OnlyWhen
        hint="Such as now.hour < 18, checked at each due time; empty means always."
        value={after.when}
        maxLength={cronLimits.whenMaxChars}
        onChange={(when) => change({ when })}
      />
      <label className="row">
        <input
          type="checkbox"
          checked={after.enabled}
          onChange={(event) => change({ enabled: event.target.checked })}
        />
        Switched on
      </label>
    </EditDialog>
  )
}
