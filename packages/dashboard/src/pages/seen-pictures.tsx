import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import type { ShownPicture } from '@flotilla/protocol/shown-picture'
import { formatBytes } from '../data/format.ts'
import { useObjectUrl } from '../data/use-object-url.ts'
import { useServices } from '../data/use-mesh.ts'
import { Failed, Loading } from '../design/parts.tsx'

/**
 * Pictures that an agent saw, drawn as images and never as documents. With `onlyAsked` they load after a click,
 * because loading starts an agent that hibernates.
 */
export function SeenPictures({
  agent,
  by,
  pictures,
  onlyAsked = false,
}: {
  readonly agent: string
  /** The tool that returned the pictures; null if it is unknown. */
  readonly by: string | null
  readonly pictures: readonly ShownPicture[]
  readonly onlyAsked?: boolean
}) {
  const [asked, setAsked] = useState(!onlyAsked)
  if (pictures.length === 0) return null
  const what = pictures.length === 1 ? 'the picture' : `the ${pictures.length} pictures`
  if (!asked) {
    return (
      <div>
        <button type="button" className="button small" onClick={() => setAsked(true)}>
          Show {what} that the agent saw
        </button>
      </div>
    )
  }
  return (
    <div className="seen-pictures">
      {pictures.map((picture) => (
        <SeenPicture key={picture.sha256} agent={agent} by={by} picture={picture} />
      ))}
    </div>
  )
}

function SeenPicture({
  agent,
  by,
  picture: { sha256, size_bytes: size },
}: {
  readonly agent: string
  readonly by: string | null
  readonly picture: ShownPicture
}) {
  const { client } = useServices()
  const read = useQuery({
    queryKey: ['pictureRead', agent, sha256],
    queryFn: ({ signal }) => client.bytes('pictureRead', { params: { id: agent, sha256 }, signal }),
    // The name is the hash of the content, so the content never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <figure className="seen-picture">
      {read.isPending && <Loading rows={2} />}
      {read.error && <Failed error={read.error} retry={read.refetch} />}
      {read.data && <Drawn bytes={read.data} words={`What ${agent} saw${by === null ? '' : ` by ${by}`}`} />}
      <figcaption className="small muted">
        {agent} saw this
        {by !== null && (
          <>
            {' '}
            by <span className="mono">{by}</span>
          </>
        )}
        , {formatBytes(size)}
      </figcaption>
    </figure>
  )
}

/** Shows bytes as a picture if they are one. Only the bytes decide the type, whatever the file name says. */
export function Drawn({ bytes, words }: { readonly bytes: Uint8Array; readonly words: string }) {
  const type = imageTypeOf(bytes)
  const url = useObjectUrl(bytes, type ?? 'application/octet-stream')
  if (type === null) return <p className="muted">This file is not a picture.</p>
  return url === null ? <Loading rows={2} /> : <img className="picture" src={url} alt={words} />
}
