import { type Admission, type AdmittedFunction, isRefusal } from '../admission/admit.ts';
import { draftOf } from '../model/reply.ts';

/** Code that is not run, and why; for the log. */
export interface NotReadmitted {
  readonly kind: 'notReadmitted';
  readonly detail: string;
}

/**
 * Admits bytes that another process says it has admitted: its word does not cross a socket. They are judged anew,
 * by this process's own module table, and the digest of what is admitted must be the one the other side ran under.
 */
export function readmit(
  admission: Admission,
  code: Buffer,
  codeSha256: string,
): AdmittedFunction | NotReadmitted {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(code);
  } catch {
    return refused('the function is not UTF-8');
  }
  const verdict = admission.admit(draftOf(text));
  if (isRefusal(verdict)) {
    return refused(
      `the function is not admitted here (${verdict.rule_id}): give both processes one prompt pack`,
    );
  }
  return verdict.sha256 === codeSha256
    ? verdict
    : refused('the function is another than the digest beside it says');
}

function refused(detail: string): NotReadmitted {
  return { kind: 'notReadmitted', detail };
}
