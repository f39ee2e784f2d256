import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import { formatBytes } from '../../data/format.ts'
import { useObjectUrl } from '../../data/use-object-url.ts'
import { useServices } from '../../data/use-mesh.ts'
import { Icon } from '../../design/icons.tsx'
import { Markdown } from '../../design/markdown.tsx'
import { Code, Failed, Loading } from '../../design/parts.tsx'

/** Maximum size in bytes of a shown text; a longer one can be downloaded. */
const shownMaxBytes = 200_000

/** Shows an artifact: a picture as an image, Markdown rendered, anything else as text or a download. */
export function ArtifactView({ agent, name }: { readonly agent: string; readonly name: string }) {
  const [open, setOpen] = useState(true)
  return (
    <details className="tool artifact" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="file" />
        <span className="clip">
          {name} <span className="small muted">artifact of {agent}</span>
        </span>
      </summary>
      {open && <Inside agent={agent} name={name} />}
    </details>
  )
}

function Inside({ agent, name }: { readonly agent: string; readonly name: string }) {
  const { client } = useServices()
  const read = useQuery({
    queryKey: ['artifact', agent, name],
    queryFn: async ({ signal }) => await client.bytes('artifact', { params: { agent, name }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <div className="inside">
      {read.isPending && <Loading rows={2} />}
      {read.error && <Failed error={read.error} retry={read.refetch} />}
      {read.data && <Content name={name} bytes={read.data} />}
    </div>
  )
}

function Content({ name, bytes }: { readonly name: string; readonly bytes: Uint8Array }) {
  const picture = imageTypeOf(bytes)
  const url = useObjectUrl(bytes, picture ?? 'application/octet-stream')
  const text = picture === null ? textIn(bytes) : null
  return (
    <>
      {picture !== null && url !== null && <img className="picture" src={url} alt={`What ${name} shows`} />}
      {text !== null &&
        (/\.(?:md|markdown)$/i.test(name) ? <Markdown text={text} /> : <Code value={text} label={name} />)}
      <div className="row small muted">
        <span>{formatBytes(bytes.length)}</span>
        {url !== null && (
          <a href={url} download={name}>
            Save<span className="hidden-words"> {name}</span>
          </a>
        )}
      </div>
    </>
  )
}

/** Returns the text; null if the bytes are no text, or more than a page shows. */
function textIn(bytes: Uint8Array): string | null {
  if (bytes.length > shownMaxBytes) return null
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}
