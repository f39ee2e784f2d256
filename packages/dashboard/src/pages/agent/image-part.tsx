import { ownImageSchema } from '@flotilla/protocol/agent-image'
import type { AgentImageView } from '@flotilla/protocol/agent-image'
import { useState } from 'react'
import { useAction, useMesh, useRefusal, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { TextField } from '../../design/fields.tsx'
import { Failed, Loading } from '../../design/parts.tsx'

const stale = ['agentImage', 'agentPackages', 'packages'] as const

/** The image from which an agent runs, with a form for an owner. For people who may see it. */
export function ImagePart({ agentId }: { readonly agentId: string }) {
  const maySee = useRefusal({ call: 'agentImage', agent: agentId }) === null
  const image = useMesh('agentImage', { params: { id: agentId } }, { enabled: maySee })
  const [isChanging, setChanging] = useState(false)
  if (!maySee) return null
  const { data } = image
  const isOwn = data !== undefined && data.set_at === agentId
  return (
    <section className="stack tight" aria-label="Image">
      <div className="row apart">
        <h3>Image</h3>
        {isOwn && (
          <Act
            call="setAgentImage"
            agent={agentId}
            className="button small"
            onClick={() => setChanging(true)}
          >
            Change …<span className="hidden-words"> image</span>
          </Act>
        )}
      </div>
      {image.isPending && <Loading rows={1} />}
      {image.error && <Failed error={image.error} retry={image.refetch} />}
      {data && (
        <p className={data.image === null ? 'small muted' : 'small mono plain-text'}>
          {data.image ?? 'The image of every agent.'}
        </p>
      )}
      {data && !isOwn && <p className="small muted">It has the image of {data.set_at}, its root ancestor.</p>}
      {isChanging && data && <ImageForm view={data} onClose={() => setChanging(false)} />}
    </section>
  )
}

function ImageForm({
  view: { agent_id: agentId, image },
  onClose,
}: {
  readonly view: AgentImageView
  readonly onClose: () => void
}) {
  const { client } = useServices()
  // The image when the form was opened; later changes by other people do not alter it.
  const [before] = useState(image ?? '')
  const [after, setAfter] = useState(before)
  const named = after.trim()
  const read = ownImageSchema.safeParse(named)
  const fault = named === '' || read.success ? null : (read.error.issues[0]?.message ?? 'invalid')
  const save = useAction('setAgentImage', {
    done: `The image of ${agentId} is changed; its next run uses it.`,
    stale,
    undo: () => ({
      by: 'setAgentImage',
      run: () => client.call('setAgentImage', { params: { id: agentId }, body: { image } }),
      done: `The image of ${agentId} is as it was.`,
    }),
  })
  return (
    <EditDialog
      title={`Image of ${agentId}`}
      before={before}
      after={named}
      fault={fault}
      busy={save.isPending}
      onSave={() =>
        save.mutate(
          { params: { id: agentId }, body: { image: named === '' ? null : named } },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
    >
      <TextField
        label="Image with its digest; empty for the image of every agent"
        value={after}
        onChange={setAfter}
      />
    </EditDialog>
  )
}
