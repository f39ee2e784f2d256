import { useState } from 'react'
import { channelFieldMaxChars, channelFields, channelSetUp } from '@flotilla/protocol/channel-fields'
import type { ChannelName } from '@flotilla/protocol/people'
import { useAction } from '../../data/use-mesh.ts'
import { TextField } from '../../design/fields.tsx'
import { Failed } from '../../design/parts.tsx'

/** Values that the mesh generated because the person left them empty. */
export interface Made {
  readonly channel: ChannelName
  readonly values: Readonly<Record<string, string>>
}

/** Asks for the tokens of a channel. The mesh verifies them with the platform before it stores them. */
export function ChannelForm({
  name,
  isNew,
  onDone,
}: {
  readonly name: ChannelName
  /** True if the channel is off, so that the form explains how to create a bot on the platform. */
  readonly isNew: boolean
  readonly onDone: (made: Made['values']) => void
}) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const [answersTo, setAnswersTo] = useState('')
  const add = useAction('channelAdd', {
    done: 'The channel is on.',
    failsInPlace: true,
    stale: ['channels', 'credentials'],
  })
  const values = Object.fromEntries(Object.entries(typed).filter(([, value]) => value.trim() !== ''))
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        const address = answersTo.trim() === '' ? {} : { answers_to: answersTo.trim() }
        add.mutate(
          { params: { name }, body: { values, ...address } },
          {
            onSuccess: ({ made }) => {
              setTyped({})
              onDone(made)
            },
          },
        )
      }}
    >
      {isNew && <p className="small muted">{channelSetUp[name]}</p>}
      {channelFields[name].map((field) => (
        <TextField
          key={field.name}
          label={field.label}
          type={field.isSecret ? 'password' : 'text'}
          value={typed[field.name] ?? ''}
          onChange={(value) => setTyped({ ...typed, [field.name]: value })}
          maxLength={channelFieldMaxChars}
          hint={
            field.give === 'made'
              ? `${field.hint} If empty, the current one is kept, or one is generated.`
              : field.hint
          }
        />
      ))}
      {name === 'webhook' && (
        <TextField
          label="Where answers are posted"
          type="url"
          value={answersTo}
          onChange={setAnswersTo}
          placeholder="https://"
        />
      )}
      {add.error !== null && <Failed error={add.error} />}
      <div>
        <button type="submit" className="button primary" disabled={add.isPending}>
          {add.isPending ? 'Checking the tokens' : 'Check and save'}
        </button>
      </div>
    </form>
  )
}
