import { formatMoment } from '../data/format.ts'
import { useGoneSince, useServices } from '../data/use-mesh.ts'
import { Ago, Dot } from '../design/parts.tsx'

/** Shows above the page that the mesh does not answer, and since when the shown data are outdated. */
export function GoneBanner() {
  const { watch } = useServices()
  const since = useGoneSince()
  return (
    <div role="status">
      {since !== null && (
        <div className="gone-banner">
          <span>
            <Dot tone="bad" /> <strong>The mesh does not answer.</strong> What you see is from{' '}
            {formatMoment(since)} (<Ago at={since} />
            ). The page tries again by itself.
          </span>
          <button type="button" className="button small" onClick={watch.askNow}>
            Try now
          </button>
        </div>
      )}
    </div>
  )
}
