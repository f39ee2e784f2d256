import type { ComponentProps, ReactNode } from 'react'
import { roleWords } from '../data/refusal.ts'
import type { Deed } from '../data/refusal.ts'
import { useMesh, useRefusal } from '../data/use-mesh.ts'
import { Card, Empty, Failed, Loading, PageHead } from './parts.tsx'

/** A button for a call of the mesh. If the caller may not make the call, it is disabled and shows the reason. */
export function Act({ call, agent, wants, disabled, title, ...button }: ComponentProps<'button'> & Deed) {
  const refusal = useRefusal({ call, agent, wants })
  return (
    <button
      type="button"
      {...button}
      disabled={refusal !== null || disabled}
      title={refusal ?? title}
      aria-description={refusal ?? undefined}
    />
  )
}

/** Shows its children if the caller may make the call, else a card that says why not. */
export function Reserved({
  call,
  title,
  isPage = false,
  children,
}: Pick<Deed, 'call'> & {
  readonly title: string
  /** True if the title is the heading of a whole page. */
  readonly isPage?: boolean
  readonly children?: ReactNode
}) {
  const me = useMesh('me')
  if (useRefusal({ call }) === null) return children
  const card = (
    <Card title={isPage ? 'Not yours' : title}>
      {me.isPending && <Loading />}
      {me.error && <Failed error={me.error} retry={me.refetch} />}
      {me.data && (
        <Empty title="Only owners may see this">
          You are here as {roleWords(me.data.role)}. Ask an owner for what you need.
        </Empty>
      )}
    </Card>
  )
  if (!isPage) return card
  return (
    <div className="page">
      <PageHead title={title} />
      {card}
    </div>
  )
}
