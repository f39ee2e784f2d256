import { keepPreviousData } from '@tanstack/react-query'
import { formatMoment } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { useSettled } from '../../data/use-settled.ts'
import { formatSchedule } from './format-schedule.ts'

export interface PreviewedJob {
  readonly schedule: string
  /** IANA name; empty for UTC. */
  readonly timezone: string
  readonly when: string
}

/** Asks the mesh about a schedule before a job is created: its next times, or the invalid field. */
export function useSchedulePreview({ schedule, timezone, when }: PreviewedJob) {
  const typed = JSON.stringify([schedule.trim(), timezone.trim(), when.trim()])
  const settled = useSettled(typed)
  const [settledSchedule, settledZone, settledWhen] = JSON.parse(settled) as [string, string, string] // as it was written above
  const preview = useMesh(
    'cronPreview',
    {
      query: {
        schedule: settledSchedule,
        ...(settledZone === '' ? {} : { timezone: settledZone }),
        ...(settledWhen === '' ? {} : { when: settledWhen }),
      },
    },
    { enabled: settledSchedule !== '', placeholderData: keepPreviousData },
  )
  if (settledSchedule === '' || preview.data === undefined) return undefined
  return { ...preview.data, isOld: settled !== typed || preview.isPlaceholderData }
}

/** Describes a schedule in a sentence, with its next time in the browser's time zone. */
export function SchedulePreview({
  schedule,
  next,
  isOld,
}: {
  readonly schedule: string
  readonly next: readonly number[]
  /** True while `next` contains the times of the schedule before the last change. */
  readonly isOld: boolean
}) {
  if (next.length === 0) return null
  const moments = next.slice(0, 3).map((at) => formatMoment(at))
  return (
    <p className="small" role="status">
      <strong>{formatSchedule(schedule)}</strong>
      <span className="muted">, next {isOld ? '…' : moments.join(' · ')}</span>
    </p>
  )
}
