use qdrant_edge::PointOperations;
use uuid::Uuid;

use super::*;

fn deletion(points: &[u128]) -> UpdateOperation {
    let ids = points
        .iter()
        .map(|point| PointId::Uuid(Uuid::from_u128(*point)));
    UpdateOperation::PointOperation(PointOperations::DeletePoints { ids: ids.collect() })
}

#[test]
fn a_copy_gets_each_changed_point_once_in_the_order_of_the_changes() {
    let log = Log::default();
    for points in [&[3, 1][..], &[2, 3]] {
        log.add(&deletion(points));
    }
    assert_eq!(log.len(), 3);
    let expected = [3, 1, 2].map(|point| PointId::Uuid(Uuid::from_u128(point)));
    assert_eq!(log.take().unwrap().points, expected);
    assert_eq!(log.len(), 0);
}

#[test]
fn an_abandoned_copy_gets_no_changes() {
    let log = Log::default();
    log.add(&deletion(&[1]));
    log.check().unwrap();
    log.abandon();
    assert!(log.check().is_err());
    assert!(log.take().is_err());
}
