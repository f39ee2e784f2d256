import { useEffect, useState } from 'react'

/** Until a person has typed to an end. */
const settleMs = 250

/** What stands in a field once nobody types in it, for what the mesh is asked with it. */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settleMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
