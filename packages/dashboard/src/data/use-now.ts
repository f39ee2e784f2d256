import { systemClock } from '@flotilla/client/system-clock'
import { useEffect, useState } from 'react'

/** The time, told again every few seconds, for what says how long ago something was. */
export function useNow(everyMs = 5000): number {
  const [now, setNow] = useState(() => systemClock.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(systemClock.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
