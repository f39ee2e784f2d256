import { useState } from 'react'
import { channelNoticeKinds } from '@flotilla/protocol/channels-api'
import type { ChannelNotices as Notices, ChannelView } from '@flotilla/protocol/channels-api'
import { channelNames } from '@flotilla/protocol/people'
import { useAction } from '../../data/use-mesh.ts'
import { TickField, TextField } from '../../design/fields.tsx'
import { Card, Failed } from '../../design/parts.tsx'

const kindWords: Readonly<Record<(typeof channelNoticeKinds)[number], string>> = {
  notes: 'Notes of agents and of the mesh, quarantines included',
  approvals: 'Approvals that wait for you (you decide in the dashboard or a terminal, never in a chat)',
  budgets: 'Budgets at 80 and at 100 percent',
  tasks: 'Tasks that the operator handed off and that ended',
}
const usualHours = { from: '22:00', to: '07:00' } as const

/** Sets which notices owners get, on which platform, and the quiet hours. */
export function ChannelNotices({
  notices,
  channels,
  titles,
}: {
  readonly notices: Notices
  readonly channels: readonly ChannelView[]
  readonly titles: Readonly<Record<ChannelView['name'], string>>
}) {
  const [to, setTo] = useState<Notices['to']>(notices.to)
  const [about, setAbout] = useState<Notices['about']>(notices.about)
  const [hours, setHours] = useState(notices.quiet_hours)
  const set = useAction('channelNotices', {
    done: 'Saved.',
    failsInPlace: true,
    stale: ['channels'],
  })
  const offered = channelNames.filter(
    (name) => to.includes(name) || channels.some((one) => one.name === name && one.state !== 'off'),
  )
  return (
    <Card title="Notifications">
      <form
        className="body form"
        onSubmit={(event) => {
          event.preventDefault()
          set.mutate({ body: { to, about, quiet_hours: hours } })
        }}
      >
        <p className="small muted">
          Owners get notices in their direct chat with the bot, after they have written to it once. The same
          notice comes at most once a day.
        </p>
        <fieldset className="stack">
          <legend>Where</legend>
          {offered.length === 0 && <span className="small muted">No channel is on yet.</span>}
          {offered.map((name) => (
            <TickField
              key={name}
              label={titles[name]}
              checked={to.includes(name)}
              onChange={(isOn) =>
                setTo(channelNames.filter((one) => (one === name ? isOn : to.includes(one))))
              }
            />
          ))}
        </fieldset>
        <fieldset className="stack">
          <legend>What</legend>
          {channelNoticeKinds.map((kind) => (
            <TickField
              key={kind}
              label={kindWords[kind]}
              checked={about.includes(kind)}
              onChange={(isOn) =>
                setAbout(channelNoticeKinds.filter((one) => (one === kind ? isOn : about.includes(one))))
              }
            />
          ))}
        </fieldset>
        <fieldset className="stack">
          <legend>Quiet hours</legend>
          <TickField
            label="Hold notifications during quiet hours"
            checked={hours !== null}
            onChange={(isOn) => setHours(isOn ? usualHours : null)}
          />
          {hours !== null && (
            <div className="form-pair">
              <TextField
                label="From"
                value={hours.from}
                onChange={(from) => setHours({ ...hours, from })}
                placeholder="22:00"
                maxLength={5}
                required
              />
              <TextField
                label="To"
                value={hours.to}
                onChange={(end) => setHours({ ...hours, to: end })}
                placeholder="07:00"
                maxLength={5}
                required
                hint="By the clock of the mesh’s machine."
              />
            </div>
          )}
        </fieldset>
        {set.error !== null && <Failed error={set.error} />}
        <div>
          <button type="submit" className="button primary" disabled={set.isPending}>
            Save
          </button>
        </div>
      </form>
    </Card>
  )
}
