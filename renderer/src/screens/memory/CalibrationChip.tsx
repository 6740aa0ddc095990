import { useTranslation } from 'react-i18next';
import type { ModelSnapshot } from '../../../../main/contract/runtime.ts';
import { Chip } from '../../ui/Chip.tsx';
import { useFormat } from '../../ui/studio-context.ts';

/** Whether working memory is measured or still estimated. */
export function CalibrationChip({ calibration }: { calibration: ModelSnapshot['calibration'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  switch (calibration.state) {
    case 'not_needed':
      return <Chip hint={t('memory.calibration.not_neededHint')}>{t('memory.calibration.not_needed')}</Chip>;
    case 'none':
      return <Chip hint={t('memory.calibration.noneHint')}>{t('memory.calibration.none')}</Chip>;
    case 'stale':
      return (
        <Chip tone="warning" hint={t('memory.calibration.staleHint')}>
          {t('memory.calibration.stale')}
        </Chip>
      );
    case 'calibrated':
      return (
        <Chip
          tone="accent"
          hint={t('memory.calibration.calibratedHint', { ratio: format.factor(calibration.ratio) })}
        >
          {t('memory.calibration.calibrated', { count: calibration.runs })}
        </Chip>
      );
  }
}
